"""The session: Spark started as this engine needs it, and its jobs."""

from __future__ import annotations

import logging
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

import checker
from checker.distributed.java import use_java
from checker.errors import LeadlineError

T = TypeVar("T")

TICK = 0.25
"""Seconds between two looks at a running job."""

_PACKAGES = ("checker", "model", "invariants")


class Session:
    """Spark, from its start to its end. To be used in a ``with`` statement.

    All that waits for Java is called in a thread of its own: an interrupt, which the main thread gets, would cut
    off an answer of Java's in the middle, and Spark's own handler for it, which only a main thread is given, asks
    Java something while an answer is on its way.

    Parameters:
        master: the master's URL; None: what `spark-submit` says, or else this machine.
        conf: Spark's own settings.
        verbose: whether Spark's log and bar are shown.

    Attributes:
        cores: how many tasks can run at the same time.
        is_local: whether all runs on this machine.

    Raises:
        LeadlineError: Spark does not start; says why.
    """

    def __init__(self, master: str | None, conf: Mapping[str, str], verbose: bool = False) -> None:
        if not pyspark.__version__.startswith("4."):
            raise LeadlineError(f"the spark engine needs pyspark 4, but this is {pyspark.__version__}")
        use_java()
        os.environ.setdefault("PYSPARK_PYTHON", conf.get("spark.pyspark.python", sys.executable))
        self._thread = ThreadPoolExecutor(1, "spark")
        self._context = self._thread.submit(_started, master, conf, verbose).result()
        if not verbose:  # else, when Java dies, Spark's Python shows where it was, several times
            logging.getLogger().addHandler(logging.NullHandler())
            self._context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.is_local = self.master.startswith("local")
        self._ship()
        self.cores = int(self._context.defaultParallelism)
        self._homes: dict[int, Any] = {}

    def _ship(self) -> None:
        """Give leadline to executors, with what is compiled of it."""
        folder = Path(checker.__file__).parent.parent
        if self.is_local:
            self._context.environment["PYTHONPATH"] = str(folder)
            return
        self._packed = tempfile.TemporaryDirectory()
        for package in _PACKAGES:
            archive = Path(self._packed.name) / f"{package}.tar.gz"
            with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
                for path in (folder / package).iterdir():
                    tar.add(path, path.name)
            self._context.addArchive(f"{archive}#{package}")  # Python looks for packages where it is unpacked

    @property
    def master(self) -> str:
        """The master's URL."""
        return str(self._context.master)

    def run(
        self, task: Callable[[Any], T], tasks: Sequence[Any], tick: Callable[[], bool], at_home: bool = False
    ) -> list[T]:
        """Run tasks, and wait for all.

        Parameters:
            task: a function that workers can import.
            tasks: what it is called with.
            tick: called now and then while they run; the job is given up when it returns True.
            at_home: whether each task had best run on the executor that ran the one at its place before.

        Raises:
            GivenUp: it was.
            LeadlineError: Spark gave up.
        """
        job = self._thread.submit(self._collect, task, tasks, at_home)
        try:
            while wait([job], TICK).not_done:
                if tick():
                    raise GivenUp
        finally:
            while not job.done():  # again and again: a job that is about to begin is not cancelled
                self._context.cancelAllJobs()
                wait([job], TICK)
        try:
            return job.result()
        except Exception as error:
            raise LeadlineError(f"Spark gave up: {_reason(error)}") from error

    def _collect(self, task: Callable[[Any], T], tasks: Sequence[Any], at_home: bool) -> list[T]:
        if at_home:
            answers: list[T] = self._at_home(len(tasks)).map(lambda place: task(tasks[place])).collect()
        else:
            answers = self._context.parallelize(tasks, len(tasks)).map(task).collect()
        return answers

    def _at_home(self, places: int) -> Any:
        """Some numbers that Spark keeps on executors, and sends tasks to where they are."""
        if places not in self._homes:
            self._homes[places] = self._context.parallelize(range(places), places).map(int).cache()
        return self._homes[places]

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        gateway, process = self._context._gateway, getattr(self._context._gateway, "proc", None)
        with suppress(Exception):  # a Java that has died cannot be stopped
            self._thread.submit(self._context.stop).result()
        self._thread.shutdown()
        if gateway is not None and process is not None:
            with suppress(Exception):
                gateway.shutdown()
            process.stdin.close()
            process.wait(30)
            SparkContext._gateway = SparkContext._jvm = None
        if not self.is_local:
            self._packed.cleanup()


class GivenUp(Exception):
    """A job was ended before it was done."""


def _started(master: str | None, conf: Mapping[str, str], verbose: bool) -> SparkContext:
    """Spark's context. Raises LeadlineError: it does not start; says why."""
    with tempfile.TemporaryFile() as log:
        try:
            at_start = SparkConf(loadDefaults=False).setAll(list(_at_start(master, conf).items()))
            silenced = {} if verbose else {"stderr": log, "stdout": log}
            gateway = launch_gateway(at_start, silenced)  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)
            return SparkContext(conf=_conf(master, conf, verbose), gateway=gateway)
        except Exception as error:
            log.seek(0)
            reason = _reason(error, log.read().decode(errors="replace"))
            raise LeadlineError(f"Spark does not start: {reason}") from error


def _at_start(master: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """The settings that a driver must have when it starts, such as its memory."""
    if master is not None and not master.startswith("local"):
        return dict(given)
    # on one machine, what Java's second compiler takes is taken from the search, and never won back
    return {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", **given}


def _conf(master: str | None, given: Mapping[str, str], verbose: bool) -> SparkConf:
    conf = SparkConf()
    if master is not None:
        conf.setMaster(master)
    conf.setIfMissing("spark.master", "local[*]")
    chosen = conf.get("spark.master") or ""
    if re.fullmatch(r"local\[([0-9]+|\*)\]", chosen):
        conf.setMaster(f"{chosen[:-1]},4]")  # else Spark gives up when a task fails once
    if chosen.startswith("local"):
        conf.setIfMissing("spark.driver.host", "127.0.0.1").setIfMissing("spark.driver.bindAddress", "127.0.0.1")
    conf.setIfMissing("spark.app.name", "leadline")
    conf.setIfMissing("spark.ui.enabled", "false")
    conf.setIfMissing("spark.ui.showConsoleProgress", str(verbose).lower())
    if not verbose:
        conf.setIfMissing("spark.log.level", "OFF")
    for name, value in given.items():
        conf.set(name, value)
    return conf


def _reason(error: Exception, log: str = "") -> str:
    """What matters of an error of Spark's, in a line."""
    text = str(error) if not isinstance(error, PySparkException) else (error.getMessage() or str(error))
    lines = [line.strip() for line in f"{text}\n{log}".splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(Caused by: )?[\w.$]*(Error|Exception)\b", line)]
    return (telling or lines or [type(error).__name__])[-1][:300]
