"""The secrets that sign cookies, reloaded when their file changes."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from nncache.net.secret_file import fault_of, state_of
from nncache.net.setting_error import SettingError
from nncache.spnego.cookies import Keys, parse_keys

_log = logging.getLogger(__name__)

LOOK_S: Final = 5.0
"""Interval between checks of the file."""

KEY: Final = "cookie_secret_file"


class SigningKeys:
    """The keys in use.

    Attributes:
        keys: the keys that the next cookie is checked with.
        on_retired: callbacks for the removal of a key, which makes its cookies invalid.
    """

    def __init__(self, path: str) -> None:
        """Read the file.

        Raises:
            SettingError: the file cannot be used; says what to do.
        """
        self._path = path
        self._state = state_of(path)
        self._fault = ""  # of the last reload; "" if it has succeeded
        self.keys: Keys = _read(path)
        self.on_retired: list[Callable[[], None]] = []

    def look(self) -> None:
        """Reload the file if it has changed, or if that has failed. A failure is logged once, and the old ones stay."""
        state, fault = state_of(self._path), self._fault
        is_new = state != self._state
        if not is_new and not fault:
            return
        self._state, self._fault = state, ""
        try:
            keys = _read(self._path)
        except SettingError as error:
            self._fault = str(error)
            if is_new or self._fault != fault:
                _log.warning("keeping the previous secrets: %s", error)
            return
        retired = set(self.keys.keys) - set(keys.keys)
        self.keys = keys
        _log.info(
            "%s is in use as it is now: it holds %d secrets, and %d are retired",
            self._path,
            len(keys.keys),
            len(retired),
        )
        if retired:
            for each in self.on_retired:
                each()

    async def run(self) -> NoReturn:
        """Check the file every `LOOK_S` seconds, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()


def _read(path: str) -> Keys:
    if fault := fault_of(path, "the secrets that sign cookies"):
        raise SettingError(KEY, path, fault)
    try:
        return parse_keys(Path(path).read_bytes())
    except OSError as error:
        raise SettingError(KEY, path, str(error.strerror or error)) from error
    except ValueError as error:
        raise SettingError(KEY, path, str(error)) from error
