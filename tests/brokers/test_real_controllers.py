"""Controllers that die, on real brokers."""

from __future__ import annotations

import sys

import pytest

from tests.brokers.test_reproduction import replays

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]


def test_a_former_controller_writes_to_zookeeper_and_does_not_since_it_is_fenced() -> None:
    affected, fixed = replays("KAFKA-6082")
    assert (affected["judgement"], fixed["judgement"]) == ("reproduced", "absent")
