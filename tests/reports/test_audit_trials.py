"""A sample of the trials of `tests/disks/trials.py`."""

from __future__ import annotations

import pytest

from leadline.checker.result import Verdict
from tests.disks.damage import KINDS
from tests.disks.trials import damaged, is_found, undamaged


@pytest.mark.parametrize("seed", range(len(KINDS)), ids=list(KINDS))
def test_damage_is_found_by_its_name_and_nothing_in_the_undamaged_twin(seed: int) -> None:
    done, result, twin = damaged(seed)
    assert is_found(done, result), [finding.text for finding in result.errors]
    assert (twin.verdict, twin.errors) == (Verdict.HOLDS, ())


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_found_where_nothing_is_wrong(seed: int) -> None:
    result = undamaged(5000 + seed)
    assert result.errors == ()
    assert result.verdict is (Verdict.INCOMPLETE if seed % 2 else Verdict.HOLDS)
    assert result.batches > 30
