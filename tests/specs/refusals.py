"""What every refusal must be: one line that names the thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from leadline.checker.errors import LeadlineError, SpecError


@contextmanager
def refused(*words: str, error: type[LeadlineError] = SpecError) -> Iterator[None]:
    """The block must raise the error, in one line, with all these words."""
    with pytest.raises(error) as refusal:
        yield
    text = str(refusal.value)
    assert "\n" not in text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
