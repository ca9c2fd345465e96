"""A property-based model checker for Kafka's partition replication.

`leadline.checker` contains the engines and the vocabulary for writing specs. `leadline.model` contains Kafka's
releases, `leadline.invariants` contains the properties, and `leadline.reports` contains the reports and the command
line. In the repository, these are top-level folders; the links beside this file combine them into one package.
"""

from pathlib import Path

if not Path(__file__).with_name("checker").is_dir():
    # The links are missing in an sdist, and are text files in a clone without symbolic links (the default on Windows).
    __path__.append(str(Path(__file__).parents[2]))
