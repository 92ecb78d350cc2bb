"""Refuse secrets in clear text.

Pure. Each secret has a key that ends in `_file` and names a file. A settings file is in version control and in backups,
a command line is visible to every user of the host (`ps`), and an environment to every child process.
"""

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

from nncache.settings.keys import ENVIRONMENT

_FILE: Final = "_file"
_NEAR: Final = 0.85
"""Less similar names are another program's: Kubernetes sets NNCACHE_SERVICE_HOST for a service called nncache."""

_SECRET: Final = re.compile(r"password|passwd|secret|token|private_key")


def in_settings(name: str, keys: Collection[str]) -> str:
    """Return the error of a secret in an unknown key of the settings file; "" if the key holds no secret."""
    return _advice(name, name, keys, "a secret must not stand in a settings file")


def in_environment(names: Iterable[str], keys: Collection[str]) -> tuple[str, ...]:
    """Return an error for each variable that holds a secret for which nncache has a key."""
    found = []
    for name in sorted(names):
        key = name.removeprefix(ENVIRONMENT).lower()
        if name.startswith(ENVIRONMENT) and f"{key}{_FILE}" in keys:
            found.append(_advice(name, key, keys, "a secret must not stand in the environment"))
    return tuple(found)


def unread(names: Iterable[str], keys: Collection[str]) -> tuple[str, ...]:
    """Return a line for each variable that is not read, although its name is similar to a setting's."""
    found = []
    for name in sorted(names):
        key = name.removeprefix(ENVIRONMENT).lower()
        if not name.startswith(ENVIRONMENT) or key in keys or f"{key}{_FILE}" in keys:
            continue  # `in_environment` refuses the last
        if near := difflib.get_close_matches(key, sorted(keys), n=1, cutoff=_NEAR):
            found.append(
                f"{name} in the environment means nothing: the nearest is {ENVIRONMENT}{near[0].upper()}"
            )
    return tuple(found)


def on_command_line(key: str) -> str:
    """Return the error of a flag that would hold a secret, given its key; see `clear_keys`."""
    return f"{flag_of(key)}: a secret must not stand on the command line: {_to_do(flag_of(f'{key}{_FILE}'))}"


def clear_keys(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys that would hold the secrets themselves, one for each key that names a secret's file."""
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
