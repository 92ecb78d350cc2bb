"""Tests of this room run on the proxy's event loop, uvloop: flow control and half-close differ from asyncio's."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from nncache.testbed.certificates import Authority


def pytest_asyncio_loop_factories(item: pytest.Function) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Return the factory of each test's event loop; a module in virtual time has a LOOP of its own."""
    return {"loop": getattr(item.module, "LOOP", uvloop.new_event_loop)}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a certificate authority of this test's own."""
    return Authority(tmp_path / "authority")
