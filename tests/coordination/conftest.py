"""Tests of this room run on both event loops where a thread calls into the loop, and otherwise on the daemons' own."""

from asyncio import AbstractEventLoop, SelectorEventLoop
from collections.abc import Callable, Mapping

import pytest
import uvloop

from tests.invalidation.virtual_time import VirtualLoop

ON_BOTH = {"test_session.py", "test_loop_handler.py"}
IN_VIRTUAL_TIME = {"test_task_group.py"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Return the factories of each test's event loop."""
    if item.path.name in ON_BOTH:
        return {"uvloop": uvloop.new_event_loop, "asyncio": SelectorEventLoop}
    if item.path.name in IN_VIRTUAL_TIME:
        return {"virtual": VirtualLoop}
    return {"uvloop": uvloop.new_event_loop}
