"""How hypothesis runs here, and the event loop: the one that the proxy runs on."""

from hypothesis import settings

from tests.proxy.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]

# A busy machine is slow at times; how much work is done is counted where it matters, never timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
