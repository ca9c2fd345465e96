"""Provide a folder for a run on real brokers. The folder is either temporary, or kept after the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leadline.brokers.errors import BrokerError
from leadline.checker.support.temporary import private_folder


@contextmanager
def run_folder(keep: Path | None) -> Iterator[Path]:
    """Return a context manager that provides the folder for the data directories and logs of brokers.

    Parameters:
        keep: the folder to keep, or None for a temporary folder. A folder that does not exist is created.

    Raises:
        BrokerError: if the folder is not empty, or cannot be created.
    """
    if keep is None:
        with private_folder() as temporary:
            yield temporary
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise BrokerError(f"{keep} is not empty: use a new folder, because brokers would start with its data")
    except OSError as error:
        raise BrokerError(f"cannot use {keep} for the data of brokers: {error.strerror or error}") from error
    yield keep.absolute()
