"""Tests of this room run on the event loop that the proxy runs on: flow control and half-closing differ."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from nncache.testbed.certificates import Authority


def pytest_asyncio_loop_factories(item: pytest.Function) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test; a module in virtual time has a LOOP of its own."""
    return {"loop": getattr(item.module, "LOOP", uvloop.new_event_loop)}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority of this test's own."""
    return Authority(tmp_path / "authority")
