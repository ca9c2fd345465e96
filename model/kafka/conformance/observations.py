"""Converts recorded frames and events to observations of the model.

Each method of `Observations` returns the observation for one kind of frame or event, in the model's terms: brokers are
replicas, numbered from 0; leader epochs are numbered in the order in which leaders were chosen; and records have
numbers as values. `model/recordings.md` lists what the model abstracts from, and says how each case is checked.
"""

from __future__ import annotations

import attrs

from leadline.model.kafka.conformance.clients import ClientObservations
from leadline.model.kafka.conformance.decisions import DecisionObservations
from leadline.model.kafka.conformance.epochs import EpochObservations
from leadline.model.kafka.conformance.failures import FailureObservations
from leadline.model.kafka.conformance.fetches import FetchObservations
from leadline.model.kafka.conformance.isr import IsrObservations
from leadline.model.kafka.conformance.metadata_log import MetadataObservations
from leadline.model.kafka.conformance.upgrades import UpgradeObservations


@attrs.frozen(eq=False)
class Observations(
    FetchObservations,
    EpochObservations,
    DecisionObservations,
    IsrObservations,
    MetadataObservations,
    ClientObservations,
    FailureObservations,
    UpgradeObservations,
):
    """Makes all kinds of observations."""
