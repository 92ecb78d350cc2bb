"""Certificates, of an authority of each test's own."""

from tests.proxy.conftest import authority

__all__ = ["authority"]
