"""Errors that end a command or a start, each with its line for the terminal."""

from typing import ClassVar


class StartError(Exception):
    """Root of this room's errors: nncache cannot start. `str()` is the one line for a log."""

    exit_code: ClassVar[int] = 1
    lines: tuple[str, ...]
    """For a terminal: one for each fault."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.lines = (line,)


class ConfigurationError(StartError):
    """Settings are at fault; starting again will not help. Exit code 2, as for a wrong option."""

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        """Make one of one line for each fault; `str()` is all of them in one."""
        super().__init__("; ".join(lines))
        self.lines = lines


class AdminError(StartError):
    """A running proxy could not be asked over its admin port."""


class NotAuditedError(AdminError):
    """Nothing could be compared: as of diff(1), exit code 1 says that an answer was wrong."""

    exit_code = 2


class FleetError(AdminError):
    """Some registered proxies did not do what was asked; a line for each, and how many."""

    def __init__(self, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


class FleetNotAskedError(FleetError):
    """No proxy was asked: exit code 1 says that some of them did not do it."""

    exit_code = 2


class FiltersError(StartError):
    """The filters could not be read or changed; the reply of HDFS is part of the line."""


class NotComparedError(FiltersError):
    """A file could not be compared with the filters: as of diff(1), exit code 1 says that they differ."""

    exit_code = 2


class WatchError(StartError):
    """The filter can't be followed; says what to do."""


class RegistryCommandError(StartError):
    """The registry could not be read or changed; says which path, and why."""


class RegistryNotReadError(RegistryCommandError):
    """The registry could not be checked: exit code 1 says that something in it is wrong."""

    exit_code = 2
