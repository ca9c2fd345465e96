"""All that can happen to a partition, for the `rpc` family: shared by all four protocols."""

from __future__ import annotations

from model.rpc.controller import (
    controller_elects,
    controller_elects_uncleanly,
    controller_notices_failure,
    session_expires,
)
from model.rpc.crash import crash, crash_after_append, crash_losing_tail, restart
from model.rpc.fetch import handle_fetch, handle_fetch_response, park_fetch
from model.rpc.isr import shrink_isr
from model.rpc.leadership import become_follower, become_leader
from model.rpc.produce import produce
from model.rpc.truncation import handle_epoch_request, handle_epoch_response

ACTIONS = (
    produce,
    handle_fetch,
    park_fetch,
    handle_fetch_response,
    handle_epoch_request,
    handle_epoch_response,
    become_leader,
    become_follower,
    shrink_isr,
    controller_notices_failure,
    controller_elects,
    controller_elects_uncleanly,
    restart,
    session_expires,
    crash,
    crash_after_append,
    crash_losing_tail,
)
"""Of several shortest traces a search shows the first in this order, which has failures as late as can be."""
