"""Tests of this room play in virtual time, but for those that meet real servers."""

from asyncio import AbstractEventLoop, SelectorEventLoop
from collections.abc import Callable, Mapping

import pytest

from tests.invalidation.virtual_time import VirtualLoop

IN_VIRTUAL_TIME = {"channel", "edits", "follower", "subscriber"}
"""Directories."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test that is a coroutine."""
    if item.path.parent.name in IN_VIRTUAL_TIME:
        return {"virtual": VirtualLoop}
    return {"asyncio": SelectorEventLoop}
