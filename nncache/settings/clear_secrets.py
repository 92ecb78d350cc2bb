"""Refuse secrets in the clear.

Pure. Each secret has a key that names a file, and ends in `_file`. A settings file lies in version control and in
backups; a command line is shown to every user of the host (`ps`), and an environment to every child process.
"""

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

from nncache.settings.keys import ENVIRONMENT

_FILE: Final = "_file"
_NEAR: Final = 0.85
"""Less alike is another program's: Kubernetes makes NNCACHE_SERVICE_HOST of a service called nncache."""

_SECRET: Final = re.compile(r"password|passwd|secret|token|private_key")


def in_settings(name: str, keys: Collection[str]) -> str:
    """Return what is wrong with a key of the settings file that no command has; "" if it is no secret."""
    return _advice(name, name, keys, "a secret must not stand in a settings file")


def in_environment(names: Iterable[str], keys: Collection[str]) -> tuple[str, ...]:
    """Return what is wrong with variables that hold a secret which nncache has a key for."""
    found = []
    for name in sorted(names):
        key = name.removeprefix(ENVIRONMENT).lower()
        if name.startswith(ENVIRONMENT) and f"{key}{_FILE}" in keys:
            found.append(_advice(name, key, keys, "a secret must not stand in the environment"))
    return tuple(found)


def unread(names: Iterable[str], keys: Collection[str]) -> tuple[str, ...]:
    """Return what is meant by variables that are nearly named like a setting: none of them is read."""
    found = []
    for name in sorted(names):
        key = name.removeprefix(ENVIRONMENT).lower()
        if not name.startswith(ENVIRONMENT) or key in keys or f"{key}{_FILE}" in keys:
            continue  # the last is refused
        if near := difflib.get_close_matches(key, sorted(keys), n=1, cutoff=_NEAR):
            found.append(
                f"{name} in the environment means nothing: the nearest is {ENVIRONMENT}{near[0].upper()}"
            )
    return tuple(found)


def on_command_line(key: str) -> str:
    """Return what is wrong with a flag that would hold a secret, by its key; see `clear_keys`."""
    return f"{flag_of(key)}: a secret must not stand on the command line: {_to_do(flag_of(f'{key}{_FILE}'))}"


def clear_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys that would hold a secret itself, for those that name its file."""
    return tuple(key.removesuffix(_FILE) for key in keys if key.endswith(_FILE))


def _advice(shown: str, name: str, keys: Collection[str], rule: str) -> str:
    files = sorted(key for key in keys if key.endswith(_FILE))
    if f"{name}{_FILE}" in keys:
        return f"{shown}: {rule}: {_to_do(f'{name}{_FILE}')}"
    if _SECRET.search(name) and files:
        return f"{shown}: {rule}: {_to_do('one of ' + ', '.join(files))}"
    return ""


def _to_do(key: str) -> str:
    return f"write it to a file of mode 0400, and name that file in {key}"


def flag_of(key: str) -> str:
    """Return the flag of a key."""
    return "--" + key.replace("_", "-")
