"""Check the recording of one partition against the spec of one release."""

from leadline.brokers.conformance.check import Checked, Checks
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.checker.conformance import Limits
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.releases import Column


def check(
    read: PartitionRecording,
    column: Column | Mix,
    limits: Limits | None = None,
    *,
    keeps_logs: bool = True,
    without: str = "",
) -> Checked:
    """The result; see `Checks`."""
    return Checks(read, limits, keeps_logs=keeps_logs).check(column, without)
