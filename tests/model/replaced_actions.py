"""How mutants are made, of the specs of both families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from leadline.checker import Action, Spec
from leadline.model.mistakes import Taken


def with_actions(spec: Spec[Any], functions: Mapping[Action[Any, Any], Taken]) -> Spec[Any]:
    """A spec with some actions replaced: same name and parameters, another function."""
    actions = [attrs.evolve(each, function=functions.get(each, each.function)) for each in spec.actions]
    return attrs.evolve(spec, actions=actions)
