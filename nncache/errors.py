"""Errors of this room: what ends a start, told in one line. (nncache/errors.py)"""

from typing import ClassVar


class StartError(Exception):
    """Root of this room's errors: nncache cannot start. `str()` is the one line for the terminal."""

    exit_code: ClassVar[int] = 1


class ConfigurationError(StartError):
    """A setting is at fault; starting again will not help. Exit code 2, as for a wrong option."""

    exit_code = 2


class AdminError(StartError):
    """A running proxy could not be asked over its admin port."""


class FiltersError(StartError):
    """The filters could not be read or changed; what HDFS said is part of the line."""


class NotComparedError(FiltersError):
    """A file could not be compared with the filters: as of diff(1), exit code 1 says that they differ."""

    exit_code = 2


class WatchError(StartError):
    """The filter can't be followed; says what to do."""
