"""Races make the log be quiet; the tests that follow have theirs again."""

import logging
from collections.abc import Iterator

import pytest

from tests.races.proxied import LOGGERS


@pytest.fixture(autouse=True)
def log_afterwards() -> Iterator[None]:
    """Undo what `be_quiet` has done."""
    yield
    logging.disable(logging.NOTSET)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)
