"""Specs that follow disputed interpretations of articles on Kafka, for the suite in this folder."""

from __future__ import annotations

import attrs

from leadline.invariants.families.kafka import RPC
from leadline.model.kafka import readings
from leadline.model.kafka.leadership import become_leader
from leadline.model.kafka.releases import KIP_101, KIP_320

no_minimum = RPC.spec(KIP_101, readings.NO_MINIMUM)
in_sync_and = RPC.spec(KIP_320, readings.IN_SYNC_AND)
in_sync_or = RPC.spec(KIP_320, readings.IN_SYNC_OR)
no_truncation = RPC.spec(KIP_101, readings.NO_TRUNCATION)
log_end_only = RPC.spec(KIP_101, readings.LOG_END_ONLY)
fall_back = attrs.evolve(
    RPC.spec(KIP_101),
    actions=[
        readings.fall_back_and_lead if action is become_leader else action for action in RPC.spec(KIP_101).actions
    ],
)
