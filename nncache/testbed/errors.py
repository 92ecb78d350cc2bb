"""What can go wrong while a cluster is prepared, started or run."""

from typing import ClassVar


class TestbedError(Exception):
    """Root of this room's errors; the text is one line for the person at the terminal."""

    # pytest takes every class named Test... for tests; this one only reads that way.
    __test__: ClassVar[bool] = False


class MissingToolError(TestbedError):
    """Java, Maven or a program of MIT Kerberos is not there; the text names the command that installs it."""


class ResolveError(TestbedError):
    """Maven ran and could not bring the jars."""


class PortError(TestbedError):
    """A port that was asked for is taken, or none is left."""


class StartError(TestbedError):
    """A process died or stayed silent while it was awaited; the text ends with the last lines of its log."""


class KerberosError(TestbedError):
    """A program of MIT Kerberos refused what it was asked for; the text has its own words."""
