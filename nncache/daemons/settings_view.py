"""The settings in force as operators see them: secrets are masked."""

import dataclasses
from typing import Final

MASKED: Final = "********"

_SECRET_WORDS: Final = frozenset({"token", "secret", "password", "credential", "key"})


def settings_view(settings: object) -> dict[str, object]:
    """Return the value of each key, by key; a secret's is masked."""
    shown: dict[str, object] = {}
    for component in dataclasses.fields(settings):  # type: ignore[arg-type] # any dataclass
        part = getattr(settings, component.name)
        for key in dataclasses.fields(part):
            value = getattr(part, key.name)
            shown[key.name] = MASKED if value and _is_secret(key.name) else value
    return shown


def _is_secret(key: str) -> bool:
    """Whether the value itself is a secret; the name of a file that holds one is not."""
    words = key.split("_")
    return words[-1] != "file" and not _SECRET_WORDS.isdisjoint(words)
