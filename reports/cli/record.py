"""The command `leadline record`, which records the traffic between the brokers of an existing cluster."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.recorder import Address, Recorder, settings
from leadline.brokers.releases import BrokerRelease, mixed_release
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
@click.option(
    "--release",
    required=True,
    metavar="RELEASE",
    help="The release of the brokers, such as 3.9.1, or 3.9.1..4.1.1 if it is upgraded.",
)
@click.option(
    "--broker",
    "brokers",
    type=_Process(),
    multiple=True,
    help="A broker. Repeat the option for each broker, and for each listener of a broker.",
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
    "--runs",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With two releases and ZooKeeper: a file to which you append a line before a broker starts, such as "
    "'0 new release'.",
)
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
    controllers: tuple[tuple[int, Address], ...],
    zookeeper: Address | None,
    host: str,
    advertise: str | None,
    first_port: int,
    seconds: float | None,
    runs: Path | None,
    with_records: bool,
) -> int:
    """Record the traffic between the processes of an existing cluster until Ctrl-C is pressed.

    A proxy listens in front of each process. The command prints the settings that route the cluster's connections
    through the proxies. Restart the processes with these settings, and then create the topics: only partitions that are
    created while the recording runs can be checked. RECORDING is written in the format of brokers/recording.md.

    \b
    leadline record run.jsonl --release 3.9.1 --controller 100=127.0.0.1:9093 \\
      --broker 0=127.0.0.1:9092 --broker 1=127.0.0.1:9192
    leadline record run.jsonl --release 2.8.0 --zookeeper 127.0.0.1:2181 \\
      --broker 0=127.0.0.1:9092

    To record a rolling upgrade, give both releases, such as --release 3.9.1..4.1.1, and begin before the first node is
    upgraded. With KRaft, nodes say which release they run. With ZooKeeper, append it to --runs FILE before a broker
    starts with something else: its id, and old release, new release (at the old inter.broker.protocol.version) or new
    level.

    Exit code 0: the recording is complete; 2: usage error, or a connection that cannot be decoded (TLS or SASL).
    """
    chosen = mixed_release(release)
    if not brokers:
        raise click.UsageError("pass --broker for each broker")
    _check_kind(chosen, controllers, zookeeper)
    if (runs is None) != (chosen.kraft or chosen.newer is None):
        raise click.UsageError("an upgrade with ZooKeeper, and nothing else, requires --runs")
    definitions = definitions_of(chosen)
    about = {"release": chosen.name, "spec": chosen.spec}
    with Recorder(definitions, recording, host=host, hides_records=not with_records, **about) as recorder:
        recorder.listen(brokers, controllers, zookeeper, first_port)
        for line in settings(recorder.listeners, advertise or host):
            say(visible(line))
        if chosen.newer is not None:
            recorder.follow_upgrade(chosen, runs)
        say("recording; press Ctrl-C to stop" if seconds is None else f"recording for {seconds:g} s")
        with suppress(KeyboardInterrupt):
            recorder.run(seconds)
        frames, undecoded = recorder.frames, recorder.undecoded
    say(visible(f"{recording}: {counted(frames, 'frame')}, of which {undecoded} could not be decoded"))
    return AS_EXPECTED


def _check_kind(
    release: BrokerRelease, controllers: tuple[tuple[int, Address], ...], zookeeper: Address | None
) -> None:
    if release.kraft and (zookeeper is not None or not controllers):
        raise click.UsageError(f"Kafka {release.name} uses KRaft: pass --controller, and not --zookeeper")
    if not release.kraft and (zookeeper is None or controllers):
        raise click.UsageError(f"Kafka {release.name} uses ZooKeeper: pass --zookeeper, and not --controller")
