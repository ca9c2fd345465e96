"""Specs that follow disputed interpretations of articles on Kafka, for the suite in this folder."""

from __future__ import annotations

import attrs

from leadline.invariants.catalog import kafka, of_column
from leadline.model.kafka import readings
from leadline.model.kafka.leadership import become_leader
from leadline.model.kafka.releases import KIP_101, KIP_320

no_minimum = kafka(readings.NO_MINIMUM, KIP_101)
in_sync_and = kafka(readings.IN_SYNC_AND, KIP_320)
in_sync_or = kafka(readings.IN_SYNC_OR, KIP_320)
no_truncation = kafka(readings.NO_TRUNCATION, KIP_101)
log_end_only = kafka(readings.LOG_END_ONLY, KIP_101)
fall_back = attrs.evolve(
    of_column(KIP_101),
    actions=[
        readings.fall_back_and_lead if action is become_leader else action for action in of_column(KIP_101).actions
    ],
)
