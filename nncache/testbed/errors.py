"""The errors of preparing, starting and running a cluster."""

from typing import ClassVar


class TestbedError(Exception):
    """Root of this room's errors; the text is one line for the person at the terminal."""

    # pytest collects classes named Test...; this one holds no tests.
    __test__: ClassVar[bool] = False


class MissingToolError(TestbedError):
    """Java, Maven or a program of MIT Kerberos is missing; the text names the command that installs it."""


class ResolveError(TestbedError):
    """Maven ran and could not fetch the jars."""


class PortError(TestbedError):
    """The requested port is in use, or no port is free."""


class ServerStartError(TestbedError):
    """A process died or timed out while it was awaited; the text ends with the last lines of its log."""


class KdcError(TestbedError):
    """A program of MIT Kerberos failed, and the text includes its message, or it timed out."""
