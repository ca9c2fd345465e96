"""Starts Spark with the configuration that this engine needs, and runs jobs on it."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.spark.java import use_java
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Stop
from leadline.checker.support.temporary import private_folder

T = TypeVar("T")

_launch_gateway: Callable[[SparkConf, Mapping[str, object]], object] = launch_gateway

PATIENCE = 30
"""The maximum number of seconds to wait for Java to exit."""

LAST_SECONDS = 1
"""The maximum number of seconds to wait for the end of a Java process whose connections have failed."""

TICK = 0.25
"""The number of seconds between two checks of a running job."""

_log = logging.getLogger("leadline")


class JavaEnded(LeadlineError):
    """Raised when Spark's Java process has ended during the search, for example because memory ran out."""


class Session:
    """A running Spark application. Use it in a ``with`` statement, so that Spark stops at the end of the block.

    All calls to Java are made in a separate thread. In the main thread, a KeyboardInterrupt could interrupt a call that
    is reading a response from Java. Spark's interrupt handler would then call Java before the response is complete.
    Spark installs this handler only if it is started in the main thread.

    Parameters:
        master: the URL of the master. None means the master given to `spark-submit`, or this machine if there is none.
        conf: configuration properties of Spark.
        verbose: whether to show the log and the progress bar of Spark.

    Attributes:
        cores: the number of tasks that can run at the same time.
        is_local: whether all tasks run on this machine.

    Raises:
        LeadlineError: if Spark does not start. The message states the reason.
    """

    def __init__(self, master: str | None, conf: Mapping[str, str], verbose: bool = False) -> None:
        if not pyspark.__version__.startswith("4."):
            raise LeadlineError(f"the spark engine needs pyspark 4, but version {pyspark.__version__} is installed")
        check_environment(master, conf)
        self._ends = ExitStack()
        folder = self._ends.enter_context(private_folder())
        self._thread = ThreadPoolExecutor(1, "spark")
        try:
            self._context = self._thread.submit(_started, master, conf, verbose, folder).result()
        except BaseException:
            self._ends.close()
            raise
        if not verbose:  # pyspark would print several tracebacks if Java crashed
            logging.getLogger().addHandler(logging.NullHandler())
            vars(self._context._accumulatorServer)["handle_error"] = lambda *_: None
        self.is_local = self.master.startswith("local")
        try:
            self._ship(folder)
        except Exception as error:
            reason = _reason(error)
            with suppress(Exception):
                if self._context._jsc.sc().isStopped():
                    reason = f"the master {self.master} did not answer, or did not accept this application"
            self.__exit__()
            raise LeadlineError(f"cannot start Spark: {reason}") from error
        if not self.is_local and self._context.getConf().get("spark.authenticate") != "true":
            _log.warning(
                "Spark's driver listens on %s without authentication (spark.authenticate): "
                "anyone who can connect to it or to an executor can run code there",
                self._context.getConf().get("spark.driver.host"),
            )
        self.cores = int(self._context.defaultParallelism)
        self._homes: dict[int, Any] = {}

    def _ship(self, packed: Path) -> None:
        """Send the leadline package, including its compiled functions, to the executors."""
        package = Path(__file__).parents[3]
        if self.is_local:
            self._context.environment["PYTHONPATH"] = str(package.parent)
            return
        archive = packed / "leadline.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1, dereference=True) as tar:  # folders may be symbolic links
            for path in package.iterdir():
                tar.add(path, path.name)
        self._context.addArchive(f"{archive}#leadline")  # Spark unpacks it to a folder on the path of Python

    @property
    def master(self) -> str:
        """The URL of the Spark master."""
        return str(self._context.master)

    def run(
        self, task: Callable[[Any], T], tasks: Sequence[Any], tick: Callable[[], Stop | None], at_home: bool = False
    ) -> list[T]:
        """Run tasks as one Spark job, and return their results in order.

        Parameters:
            task: the function that each task calls. Workers must be able to import it.
            tasks: for each task, the argument of the function.
            tick: a function that is called regularly while the tasks run. If it returns a reason to stop, the job is
                cancelled.
            at_home: whether each task should run on the executor that previously ran the task with the same index.

        Raises:
            StopSearch: if the job was cancelled.
            JavaEnded: if the Java process of Spark ended.
            LeadlineError: if Spark failed.
        """
        return self.do(lambda context: self._collect(task, tasks, at_home), tick)

    def do(self, job_of: Callable[[SparkContext], T], tick: Callable[[], Stop | None]) -> T:
        """Run a Spark job, and return its result.

        Parameters:
            job_of: a function that takes the Spark context, runs the job, and returns its result.
            tick: a function that is called regularly while the job runs. If it returns a reason to stop, the job is
                cancelled.

        Raises:
            StopSearch: if the job was cancelled.
            JavaEnded: if the Java process of Spark ended.
            LeadlineError: if Spark failed.
        """
        job = self._thread.submit(job_of, self._context)
        try:
            while wait([job], TICK).not_done:
                if stop := tick():
                    raise StopSearch(stop)
        finally:
            while not job.done():  # repeated, because a job that has not begun cannot be cancelled
                with suppress(Exception):  # Java may have died
                    self._context.cancelAllJobs()
                wait([job], TICK)
        try:
            return job.result()
        except Exception as error:
            if (status := self._java_status()) is not None:
                raise JavaEnded(f"Spark failed: its Java process ended with {status}") from error
            raise LeadlineError(f"Spark failed: {_reason(error)}") from error

    def _java_status(self) -> str | None:
        """Return the exit status of the Java process that this session started, or None if the process is still
        running.
        """
        process: subprocess.Popen[bytes] | None = getattr(self._context._gateway, "proc", None)
        if process is None:  # `spark-submit` has started Java
            return None
        try:
            status = process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        return f"signal {-status}" if status < 0 else f"exit status {status}"

    def _collect(self, task: Callable[[Any], T], tasks: Sequence[Any], at_home: bool) -> list[T]:
        if at_home:
            answers: list[T] = self._at_home(len(tasks)).map(lambda place: task(tasks[place])).collect()
        else:
            answers = self._context.parallelize(tasks, len(tasks)).map(task).collect()
        return answers

    def _at_home(self, places: int) -> Any:
        """Return a cached RDD with one item for each task. Spark prefers to run a task on the executor that caches its
        item.
        """
        if places not in self._homes:
            self._homes[places] = self._context.parallelize(range(places), places).map(int).cache()
        return self._homes[places]

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        gateway, process = self._context._gateway, getattr(self._context._gateway, "proc", None)
        with suppress(Exception):  # Java may have died
            self._thread.submit(self._context.stop).result()
        self._thread.shutdown()
        if gateway is not None and process is not None:
            with suppress(Exception):
                gateway.shutdown()
            process.stdin.close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:  # for example, a worker hangs
                process.kill()
                process.wait()
            SparkContext._gateway = SparkContext._jvm = None
        self._ends.close()


def check_environment(master: str | None, conf: Mapping[str, str]) -> None:
    """Set ``JAVA_HOME`` if necessary, and check that Java, Spark and the Python executable for local workers exist.

    Parameters:
        master: the URL of the master; see `Session`.
        conf: configuration properties of Spark.

    Raises:
        LeadlineError: if Java, Spark or the Python executable does not exist. The message names the environment
            variable to change.
    """
    use_java()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # `spark-submit` has already started Spark
    home, python = os.environ.get("SPARK_HOME"), _python(conf)
    if home and not submitted and not (Path(home) / "bin" / "spark-submit").is_file():
        raise LeadlineError(
            f"SPARK_HOME={home} does not contain bin/spark-submit: unset it to use the Spark bundled with pyspark"
        )
    local = master.startswith("local") if master is not None else not submitted
    if local and shutil.which(python) is None:
        raise LeadlineError(
            f"the Python executable {python} does not exist: check PYSPARK_PYTHON and spark.pyspark.python"
        )


def _python(conf: Mapping[str, str]) -> str:
    """Return the path of the Python executable that Spark uses to start workers."""
    return conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


def _started(master: str | None, conf: Mapping[str, str], verbose: bool, folder: Path) -> SparkContext:
    """Start Spark, and return its context. Raise LeadlineError if it does not start."""
    if SparkContext._active_spark_context is not None:
        raise LeadlineError("this process has a Spark session already: stop it first")
    with tempfile.TemporaryFile() as log:
        try:
            at_start = SparkConf(loadDefaults=False).setAll(list(_at_start(master, conf, folder).items()))
            # in a session of its own, Java is not stopped by Ctrl-C, so that `__exit__` can shut it down
            options = {"start_new_session": True} | ({} if verbose else {"stderr": log, "stdout": log})
            gateway = _launch_gateway(at_start, options)
            SparkContext._ensure_initialized(gateway=gateway)
            context = SparkContext(conf=_conf(master, conf, verbose), gateway=gateway)
            context.pythonExec = _python(conf)
            return context
        except Exception as error:
            log.seek(0)
            reason = _reason(error, log.read().decode(errors="replace"))
            raise LeadlineError(f"cannot start Spark: {reason}") from error


def _at_start(master: str | None, given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the configuration that must be set before the Java process of the driver starts, such as its memory.

    Parameters:
        master: the URL of the master, or None; see `Session`.
        given: the configuration properties that the user has set, which take precedence.
        folder: the folder for the temporary files of Java and Spark.
    """
    if master is not None and not master.startswith("local"):
        return dict(given)
    # on one machine, the optimizing compiler of Java uses more processor time than it saves
    options = f'-XX:TieredStopAtLevel=1 "-Djava.io.tmpdir={folder}"'
    local = {} if "SPARK_LOCAL_DIRS" in os.environ else {"spark.local.dir": str(folder)}
    return {"spark.driver.extraJavaOptions": options, **local, **given}


def _conf(master: str | None, given: Mapping[str, str], verbose: bool) -> SparkConf:
    conf = SparkConf()
    if master is not None:
        conf.setMaster(master)
    conf.setIfMissing("spark.master", "local[*]")
    chosen = conf.get("spark.master") or ""
    if re.fullmatch(r"local\[([0-9]+|\*)\]", chosen):
        conf.setMaster(f"{chosen[:-1]},4]")  # up to 4 attempts per task; the default is 1
    if chosen.startswith("local"):
        conf.setIfMissing("spark.driver.host", "127.0.0.1").setIfMissing("spark.driver.bindAddress", "127.0.0.1")
        conf.setIfMissing("spark.authenticate", "true")  # Spark generates the secret
    conf.setIfMissing("spark.app.name", "leadline")
    conf.setIfMissing("spark.ui.enabled", "false")
    conf.setIfMissing("spark.ui.showConsoleProgress", str(verbose).lower())
    if not verbose:
        conf.setIfMissing("spark.log.level", "OFF")
    for name, value in given.items():
        conf.set(name, value)
    return conf


_TELLING = (
    (r'Cannot run program "([^"]+)"', "executors cannot run {}: specify a Python that exists on every machine"),
    (r"reading the port number from pyspark.daemon", "the Python of executors does not run pyspark's daemon"),
    (r"PYTHON_VERSION_MISMATCH\]\s*([^.]*\.[^.]*\.[0-9]+)", "{}: executors need the Python of the driver"),
    (r"ModuleNotFoundError: No module named '([\w.]+)'", "the Python of executors lacks the package {}"),
)
"""Patterns of error messages of Spark, each with a message that says how to correct the error."""

_HOW = " (PYSPARK_PYTHON, or --conf spark.pyspark.python=...)"


def _reason(error: Exception, log: str = "") -> str:
    """Return the cause of a Spark error, taken from the exception or from the log of Spark, as one line."""
    text = str(error) if not isinstance(error, PySparkException) else (error.getMessage() or str(error))
    for pattern, meaning in _TELLING:
        if found := re.search(pattern, text):
            return meaning.format(*found.groups()) + _HOW
    lines = [line.strip() for line in f"{text}\n{log}".splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(Caused by: )?[\w.$]*(Error|Exception)\b", line)]
    return (telling or lines or [type(error).__name__])[-1][:300]
