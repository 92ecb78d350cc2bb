"""Errors that end a command or a start, each with its line for the terminal."""

from typing import ClassVar


class StartError(Exception):
    """Root of this room's errors: nncache cannot start. `str()` is one line for a log."""

    exit_code: ClassVar[int] = 1
    lines: tuple[str, ...]
    """One line for each fault, for a terminal."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.lines = (line,)


class ConfigurationError(StartError):
    """A setting is missing or invalid; a restart will not help. Exit code 2, as for an invalid option."""

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        """Take one line for each fault. `str()` joins them into one line."""
        super().__init__("; ".join(lines))
        self.lines = lines


class AdminError(StartError):
    """A request to the admin port of a running proxy failed."""


class NotAuditedError(AdminError):
    """No answer could be compared. Exit code 2, since 1 means a wrong answer, as in diff(1)."""

    exit_code = 2


class FleetError(AdminError):
    """Some registered proxies did not carry out a request: a line for each, and their number."""

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


class FleetNotAskedError(FleetError):
    """No proxy was asked. Exit code 2, since 1 means that some proxies failed."""

    exit_code = 2


class FiltersError(StartError):
    """The filters could not be read or changed. The line contains the reply of HDFS."""


class NotComparedError(FiltersError):
    """A file could not be compared with the filters. Exit code 2, since 1 means a difference, as in diff(1)."""

    exit_code = 2


class WatchError(StartError):
    """The filter cannot be followed. The line says what to do."""


class RegistryCommandError(StartError):
    """The registry could not be read or changed. The line names the path and the reason."""


class RegistryNotReadError(RegistryCommandError):
    """The registry could not be checked. Exit code 2, since 1 means a fault in the registry."""

    exit_code = 2
