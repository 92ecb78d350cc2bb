"""A certificate authority for each test."""

from tests.proxy.conftest import authority

__all__ = ["authority"]
