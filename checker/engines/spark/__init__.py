"""The Spark engine, a breadth-first search over states that are divided into shards.

Each state is assigned to a shard by a hash of the value indices in its slots. A level is searched in two stages. First,
each `expand` task generates the next states of a part of the level. Then, each `keep` task finds the new states of one
shard. Tasks exchange data only through files in a shared directory. Therefore Spark can repeat a task that fails. The
driver expands small levels itself.

Within a level, states are sorted by the part of the previous level that first led to them, and then by the order in
which they were found. This order is the same as in the oracle, for any number of shards.

The files are those of the compiled engine: `storage` writes columns to files, `levels` locates the states of a level,
`checkpoint` saves the data that is needed to resume a search, and `claims` reserves a directory for one search. Then
read the modules in this order: `sharding` assigns states to shards; `visited` stores the states of a shard; `numbering`
defines the indices of values for all workers; `shipping` sends a spec to workers; `worker` expands parts of levels;
`tasks` defines the requests to a worker; `session` starts Spark, with the Java that `java` finds; `search` is the
breadth-first search, and `launch` prepares and starts it.
"""

from __future__ import annotations

import importlib.util

from leadline.checker.errors import LeadlineError


def require_packages() -> None:
    """Raise LeadlineError if pyspark or pyarrow is not installed, before a module that imports them is imported."""
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise LeadlineError(f"the spark engine needs {package}: run pip install 'leadline[spark]'")
