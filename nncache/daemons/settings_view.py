"""The operators' view of the settings in force, with secrets masked."""

import dataclasses
from typing import Final

MASKED: Final = "********"

_SECRET_WORDS: Final = frozenset({"token", "secret", "password", "credential", "key"})


def settings_view(settings: object) -> dict[str, object]:
    """Return the values of the settings, by key. Secrets are masked."""
    shown: dict[str, object] = {}
    for component in dataclasses.fields(settings):  # type: ignore[arg-type] # any dataclass
        part = getattr(settings, component.name)
        for key in dataclasses.fields(part):
            value = getattr(part, key.name)
            shown[key.name] = MASKED if value and _is_secret(key.name) else value
    return shown


def _is_secret(key: str) -> bool:
    """Return whether the value itself is a secret. The name of a file that holds a secret is not."""
    words = key.split("_")
    return words[-1] != "file" and not _SECRET_WORDS.isdisjoint(words)
