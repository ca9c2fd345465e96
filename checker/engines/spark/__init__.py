"""The Spark engine, a breadth-first search over states that are divided into shards.

A hash of its content assigns each state to a shard. A level is searched in two stages: `expand` tasks generate the next
states of equal parts of the level, in the order of discovery; `keep` tasks, one for each shard, find which of them are
new. Tasks exchange data through files in a shared directory, so a task is a function of files and can run twice or be
lost without harm. The driver expands small levels itself.

States are numbered within their level, ordered by the part of the previous level that they were found from, and then by
their position in what that part found. The numbers are therefore those of plain breadth-first search, for any number of
shards.

Read in this order: `storage` keeps columns in files; `levels` locates the states of a level; `sharding` assigns states
to shards; `visited` is the set of states of a shard; `numbering` is what workers agree on; `shipping` sends a spec to
workers; `worker` expands parts of levels there; `tasks` are the requests to a worker; `session` starts Spark, with the
Java that `java` finds; `manifest` holds what a resumed search needs; `claims` reserve a directory for one search;
`search` is the breadth-first search, and `launch` prepares and starts it.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, TypeVar

from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result
from leadline.checker.settings import SparkSettings
from leadline.checker.spec import Spec

if TYPE_CHECKING:
    from leadline.checker.engines.spark.session import Session
S = TypeVar("S")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: SparkSettings | None = None,
    *,
    session: Session | None = None,
) -> Result:
    """Search a spec's states breadth-first on Spark. See `leadline.checker.engines.spark.launch.explore`.

    Raises:
        LeadlineError: pyspark, pyarrow or Java is missing or too old.
    """
    for package in ("pyspark", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise LeadlineError(f"the spark engine needs {package}: run pip install 'leadline[spark]'")
    from leadline.checker.engines.spark import launch  # imports pyspark and pyarrow

    return launch.explore(spec, limits, progress, settings, session=session)
