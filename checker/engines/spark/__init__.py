"""The Spark engine: breadth-first search over states that are spread over shards.

Each state belongs to the shard that a hash of its content says. A level is searched in two stages: `expand`
tasks generate the next states of equal parts of the level, in the order of discovery; `keep` tasks, one for
each shard, find which of them are new. What passes between them lies in files that all of them see, so a
task is a function of files, and may run twice or be lost. Small levels are expanded on the driver.

A state is numbered within its level: by the part of the level before that it was found from, and its place
among what this part found. So numbers are those of plain breadth-first search, for any number of shards.

Read in this order: `storage` keeps columns in files; `levels` says where the states of a level are; `sharding`
says whose a state is; `visited` is a shard's set of states; `numbering` is what
workers agree on; `shipping` brings a spec to a worker; `worker` expands parts of levels there; `tasks` is what it is
asked; `session` starts Spark, with the Java that `java` finds; `manifest` is what a resumed search needs; `claims`
give a search a directory of its own; `search` is the breadth-first search, and `starting` begins it.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result
from leadline.checker.settings import SparkSettings
from leadline.checker.spec import Spec

if TYPE_CHECKING:
    from leadline.checker.engines.spark.session import Session


def explore(
    spec: Spec[Any],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: SparkSettings | None = None,
    *,
    session: Session | None = None,
) -> Result:
    """Search a spec's states breadth-first on Spark. See `leadline.checker.engines.spark.starting.explore`.

    Raises:
        LeadlineError: pyspark, pyarrow or Java is missing, or too old.
    """
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise LeadlineError(f"the spark engine needs {package}: pip install 'leadline[spark]'")
    from leadline.checker.engines.spark import starting  # which imports what may be missing

    return starting.explore(spec, limits, progress, settings, session=session)
