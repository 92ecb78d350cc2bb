"""The event loop of this room's tests: the one that the proxy runs on."""

from tests.proxy.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
