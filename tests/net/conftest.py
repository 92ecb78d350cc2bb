"""The tests of this room run on the proxy's event loop."""

from tests.proxy.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
