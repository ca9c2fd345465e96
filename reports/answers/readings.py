"""Specs of the readings that the articles and their readers dispute, for the suite beside this file."""

from __future__ import annotations

import attrs

from invariants.catalog import rpc
from model.rpc import readings
from model.rpc.actions import ACTIONS
from model.rpc.leadership import become_leader
from model.rpc.protocols import KIP_101

old_high_watermark = rpc(readings.OLD_HIGH_WATERMARK)
no_minimum = rpc(readings.NO_MINIMUM)
in_sync_and = rpc(readings.IN_SYNC_AND)
in_sync_or = rpc(readings.IN_SYNC_OR)
no_truncation = rpc(readings.NO_TRUNCATION)
log_end_only = rpc(readings.LOG_END_ONLY)
fall_back = attrs.evolve(
    rpc(KIP_101),
    actions=[readings.fall_back_and_lead if action is become_leader else action for action in ACTIONS],
)
