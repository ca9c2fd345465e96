"""Properties of what clients of a replicated log may rely on: that it is worth relying on."""

from __future__ import annotations

from leadline.checker.properties import invariant, step_invariant
from leadline.model.clients import Clients


@invariant("a record of which a client was told is in the log, at its offset")
def told_is_kept(state: Clients) -> bool:
    return state.acknowledged | state.read <= {*enumerate(state.log)}


@step_invariant("what clients were told is never taken back")
def told_stays(before: Clients, after: Clients) -> bool:
    return before.acknowledged <= after.acknowledged and before.read <= after.read
