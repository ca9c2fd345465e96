"""Known bugs on real brokers: each is there in a release that has it, and absent where it was fixed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.suite.command import COMMAND

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]


def replays(ticket: str) -> list[dict[str, Any]]:
    """The two replays of a reproduction."""
    command = [COMMAND, "reproduce", ticket, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    if done.returncode == 2 and "cannot be reached" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout)["replays"]
    return told


@pytest.mark.parametrize("ticket", ["KIP-101", "KAFKA-13141"])
def test_a_bug_is_reproduced_and_absent_where_it_was_mended(ticket: str) -> None:
    affected, fixed = replays(ticket)
    assert (affected["judgement"], fixed["judgement"]) == ("reproduced", "absent")
    assert affected["lost"] or affected["diverged_offsets"]
    assert not fixed["lost"]
    assert fixed["departs_at_step"]
