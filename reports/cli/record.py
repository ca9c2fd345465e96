"""The command `leadline record`, which records the traffic between the brokers of an existing cluster."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.recorder import Address, Recorder, settings
from leadline.brokers.releases import BrokerRelease, broker_release
from leadline.brokers.request_logs.convert import convert
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.lines import say


class _Process(click.ParamType[tuple[int, Address]]):
    """A process of a cluster, given as ``ID=HOST:PORT``."""

    name = "ID=HOST:PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, Address]:
        number, _, address = str(value).partition("=")
        host, _, port = address.rpartition(":")
        if not (number.isdecimal() and host and port.isdecimal()):
            self.fail(f"{value!r} must be ID=HOST:PORT, such as 1=127.0.0.1:9092", param, ctx)
        return int(number), Address(host.strip("[]"), int(port))


class _File(click.ParamType[tuple[int, Path]]):
    """A file of a process, given as ``ID=FILE``."""

    name = "ID=FILE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, Path]:
        number, _, path = str(value).partition("=")
        if not (number.isdecimal() and path):
            self.fail(f"{value!r} must be ID=FILE, such as 1=kafka-request.log", param, ctx)
        return int(number), Path(path)


class _Address(click.ParamType[Address]):
    """An address, given as ``HOST:PORT``."""

    name = "HOST:PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        host, _, port = str(value).rpartition(":")
        if not (host and port.isdecimal()):
            self.fail(f"{value!r} must be HOST:PORT, such as 127.0.0.1:2181", param, ctx)
        return Address(host.strip("[]"), int(port))


@click.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option("--release", required=True, metavar="RELEASE", help="The release of the brokers, such as 3.9.1.")
@click.option(
    "--broker",
    "brokers",
    type=_Process(),
    multiple=True,
    help="A broker. Repeat the option for each broker, and for each listener of a broker.",
)
@click.option(
    "--request-log",
    "request_logs",
    type=_File(),
    multiple=True,
    help="Instead of --broker: a request log of a broker or controller, written by kafka.request.logger (can be "
    "repeated).",
)
@click.option(
    "--metadata-log",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="With --request-log and KRaft: a copy of a controller's directory __cluster_metadata-0.",
)
@click.option(
    "--clock-error",
    type=click.FloatRange(0),
    default=50.0,
    show_default=True,
    metavar="MS",
    help="With --request-log: the maximum difference between the brokers' clocks, in milliseconds.",
)
@click.option(
    "--controller", "controllers", type=_Process(), multiple=True, help="A KRaft controller (can be repeated)."
)
@click.option("--zookeeper", type=_Address(), help="The address of ZooKeeper, for releases that use it.")
@click.option(
    "--listen", "host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to listen on."
)
@click.option(
    "--advertise",
    metavar="HOST",
    help="The host name at which brokers and clients reach the proxies. The default is the value of --listen.",
)
@click.option(
    "--first-port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The first of a range of ports to listen on. By default, free ports are chosen.",
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this number of seconds.")
@click.option(
    "--with-records",
    is_flag=True,
    help="Record all messages unchanged, with their keys and values. By default, keys and values are hashed, and "
    "only the data that leadline conform reads is recorded.",
)
def record(
    recording: Path,
    release: str,
    brokers: tuple[tuple[int, Address], ...],
    request_logs: tuple[tuple[int, Path], ...],
    metadata_log: Path | None,
    clock_error: float,
    controllers: tuple[tuple[int, Address], ...],
    zookeeper: Address | None,
    host: str,
    advertise: str | None,
    first_port: int,
    seconds: float | None,
    with_records: bool,
) -> int:
    """Record the traffic between the processes of an existing cluster until Ctrl-C is pressed.

    A proxy listens in front of each process. The command prints the settings that route the cluster's connections
    through the proxies. Restart the processes with these settings, and then create the topics: only partitions that are
    created while the recording runs can be checked. RECORDING is written in the format of brokers/recording.md.

    \b
    leadline record run.jsonl --release 3.9.1 --controller 100=127.0.0.1:9093 \\
      --broker 0=127.0.0.1:9092 --broker 1=127.0.0.1:9192
    leadline record run.jsonl --release 2.8.0 --zookeeper 127.0.0.1:2181 --broker 0=127.0.0.1:9092
    leadline record run.jsonl --release 2.8.2 --request-log 0=a/kafka-request.log --request-log 1=b/kafka-request.log
    leadline record run.jsonl --release 3.9.1 --request-log 0=a/kafka-request.log --request-log 1=b/kafka-request.log \
      --request-log 100=c/kafka-request.log --metadata-log c/__cluster_metadata-0

    \b
    With --request-log, existing request logs are converted to a recording. They must have been written by brokers of
    release 1.0 or later, at level TRACE up to 2.7, and DEBUG or TRACE since. They must begin before the topic is
    created, and include the logs of all brokers and KRaft controllers. With KRaft, --metadata-log is needed too.

    Exit code 0: the recording is complete; 2: usage error, or a connection that cannot be decoded (TLS or SASL).
    """
    chosen = broker_release(release)
    if request_logs:
        if brokers or controllers or zookeeper is not None:
            raise click.UsageError("--request-log cannot be combined with --broker, --controller or --zookeeper")
        return _convert(recording, chosen, request_logs, metadata_log, clock_error)
    if metadata_log is not None:
        raise click.UsageError("--metadata-log needs --request-log")
    if not brokers:
        raise click.UsageError("pass --broker for each broker, or --request-log for each request log")
    _check_kind(chosen, controllers, zookeeper)
    definitions = definitions_of(chosen)
    about = {"release": chosen.number, "spec": chosen.spec}
    with Recorder(definitions, recording, host=host, hides_records=not with_records, **about) as recorder:
        recorder.listen(brokers, controllers, zookeeper, first_port)
        for line in settings(recorder.listeners, advertise or host):
            say(visible(line))
        say("recording; press Ctrl-C to stop" if seconds is None else f"recording for {seconds:g} s")
        with suppress(KeyboardInterrupt):
            recorder.run(seconds)
        frames, undecoded = recorder.frames, recorder.undecoded
    say(visible(f"{recording}: {counted(frames, 'frame')}, of which {undecoded} could not be decoded"))
    return AS_EXPECTED


def _convert(
    recording: Path,
    release: BrokerRelease,
    files: tuple[tuple[int, Path], ...],
    metadata_log: Path | None,
    clock_error: float,
) -> int:
    converted = convert(
        files,
        recording,
        clock_error=clock_error / 1000,
        kraft=release.kraft,
        metadata_log=metadata_log,
        definitions=lambda: definitions_of(release),
        release=release.number,
        spec=release.spec,
    )
    found = f"{recording}: {counted(converted.requests, 'request')}"
    if converted.without_answer:
        found += (
            f"; {counted(converted.without_answer, 'answer')} left out, because nothing shows what followers made of it"
        )
    say(visible(found))
    for partition, why in converted.left_out.items():
        say(visible(f"{partition} is left out: {why}"))
    return AS_EXPECTED


def _check_kind(
    release: BrokerRelease, controllers: tuple[tuple[int, Address], ...], zookeeper: Address | None
) -> None:
    if release.kraft and (zookeeper is not None or not controllers):
        raise click.UsageError(f"Kafka {release.name} uses KRaft: pass --controller, and not --zookeeper")
    if not release.kraft and (zookeeper is None or controllers):
        raise click.UsageError(f"Kafka {release.name} uses ZooKeeper: pass --zookeeper, and not --controller")
