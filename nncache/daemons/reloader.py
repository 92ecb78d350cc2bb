"""Reload the settings at SIGHUP."""

import dataclasses
import logging
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from nncache.daemons.service_manager import ServiceManager
from nncache.errors import StartError

SettingsT = TypeVar("SettingsT")

OF_PROXY: Final = frozenset({"glob", "log_level"})
OF_PUBLISHER: Final = frozenset({"log_level"})
OF_DNS: Final = OF_PUBLISHER


@dataclass(frozen=True, slots=True)
class Reload:
    """The result of a reload.

    Attributes:
        taken: keys whose new values are in force.
        left: keys whose new values need a restart.
    """

    taken: tuple[str, ...]
    left: tuple[str, ...]

    def __str__(self) -> str:
        """Return the result as one line."""
        if not self.taken and not self.left:
            return "no setting has changed"
        phrases = [f"changed: {', '.join(self.taken)}"] if self.taken else []
        if self.left:
            phrases.append(f"needs a restart: {', '.join(self.left)}")
        return "; ".join(phrases)


def compare(before: SettingsT, wanted: SettingsT, reloadable: AbstractSet[str]) -> tuple[Reload, SettingsT]:
    """Return the result of a reload, and the settings that are in force after it.

    Args:
        before: the settings in force before it: a dataclass of components, each a dataclass of keys.
        wanted: the settings that were read.
        reloadable: keys that can change without a restart.
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


_log = logging.getLogger(__name__)


class Reloader(Generic[SettingsT]):
    """Applies reloadable settings, and names those that need a restart. Invalid settings change nothing."""

    def __init__(
        self,
        load: Callable[[], SettingsT],
        in_force: SettingsT,
        reloadable: AbstractSet[str],
        take: Callable[[SettingsT, AbstractSet[str]], None],
        manager: ServiceManager,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare reloads.

        Args:
            load: reads the settings in the same way as at start; raises StartError.
            in_force: the settings at start.
            reloadable: keys that can change without a restart.
            take: applies new settings; its second argument is the keys that have changed.
            manager: is notified of a reload.
            note: records the outcome, for audits of operators' actions.
        """
        self._note = note
        self._load = load
        self._in_force = in_force
        self._reloadable = reloadable
        self._take = take
        self._manager = manager

    def reload(self) -> None:
        """Reload the settings, and log the outcome. Never raises."""
        self._manager.reloading()
        try:
            reload, in_force = compare(self._in_force, self._load(), self._reloadable)
            self._take(in_force, frozenset(reload.taken))
        except StartError as error:
            _log.error("SIGHUP: the settings in force stay, the new ones are wrong: %s", error)
            self._note(f"refused: {error}")
        except Exception:  # noqa: BLE001 - a serving daemon keeps serving
            _log.exception("SIGHUP: the settings in force stay, the new ones could not be taken")
            self._note("failed")
        else:
            self._note(str(reload))
            self._in_force = in_force
            if reload.left:  # a line of its own: complete reloads must not use up its rate limit
                _log.warning("SIGHUP: settings were read again; %s", reload)
            else:
                _log.info("SIGHUP: settings were read again; %s", reload)
        self._manager.ready()
