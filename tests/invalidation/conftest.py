"""Coroutines of these files play in virtual time: a minute of waiting costs nothing."""

from asyncio import AbstractEventLoop, SelectorEventLoop
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.invalidation.virtual_time import VirtualLoop

IN_VIRTUAL_TIME = {
    "channel/test_untrusted_znodes.py",
    "channel/test_reader.py",
    "edits/test_confirmed_namenode.py",
    "edits/test_poller.py",
    "edits/test_rolls.py",
    "follower/test_filter_set.py",
    "follower/test_follower.py",
    "follower/test_probing.py",
    "follower/test_stream.py",
    "publisher/test_deletion.py",
    "publisher/test_filter_follower.py",
    "publisher/test_resume.py",
    "publisher/test_znode_snapshot.py",
    "subscriber/test_events.py",
}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Say what makes the event loop of each test that is a coroutine."""
    if item.path.relative_to(Path(__file__).parent).as_posix() in IN_VIRTUAL_TIME:
        return {"virtual": VirtualLoop}
    return {"asyncio": SelectorEventLoop}
