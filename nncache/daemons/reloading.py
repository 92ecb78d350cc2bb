"""Which settings a daemon takes over while it runs.

Pure. The others are read at the start only: each is part of what was built then.
"""

import dataclasses
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, TypeVar

SettingsT = TypeVar("SettingsT")

OF_PROXY: Final = frozenset({"glob", "log_level"})
OF_PUBLISHER: Final = frozenset({"log_level"})
OF_DNS: Final = OF_PUBLISHER


@dataclass(frozen=True, slots=True)
class Reload:
    """What reading the settings again comes to.

    Attributes:
        taken: keys whose new values hold from now on.
        left: keys whose new values need a restart.
    """

    taken: tuple[str, ...]
    left: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in one line."""
        if not self.taken and not self.left:
            return "no setting has changed"
        said = [f"changed: {', '.join(self.taken)}"] if self.taken else []
        if self.left:
            said.append(f"needs a restart: {', '.join(self.left)}")
        return "; ".join(said)


def compare(before: SettingsT, wanted: SettingsT, reloadable: AbstractSet[str]) -> tuple[Reload, SettingsT]:
    """Return what has changed, and the settings that are in force then.

    Args:
        before: in force until now: a dataclass of components, each a dataclass of keys.
        wanted: as they were read again.
        reloadable: keys that may change.
    """
    taken, left = list[str](), list[str]()
    parts = dict[str, Any]()
    for component in dataclasses.fields(before):  # type: ignore[arg-type] # a TypeVar can't say that it is one
        old, new = getattr(before, component.name), getattr(wanted, component.name)
        changed = [
            key.name for key in dataclasses.fields(old) if getattr(old, key.name) != getattr(new, key.name)
        ]
        values = {key: getattr(new, key) for key in changed if key in reloadable}
        taken += values
        left += (key for key in changed if key not in reloadable)
        parts[component.name] = dataclasses.replace(old, **values) if values else old
    return Reload(tuple(taken), tuple(left)), dataclasses.replace(before, **parts)  # type: ignore[type-var] # as above
