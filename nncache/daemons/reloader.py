"""Read the settings again at SIGHUP."""

import logging
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from nncache.daemons.reloading import compare
from nncache.daemons.service_manager import ServiceManager
from nncache.errors import StartError

_log = logging.getLogger(__name__)

SettingsT = TypeVar("SettingsT")


class Reloader(Generic[SettingsT]):
    """Takes over what may change, and names what needs a restart; what is wrong changes nothing."""

    def __init__(
        self,
        load: Callable[[], SettingsT],
        in_force: SettingsT,
        reloadable: AbstractSet[str],
        take: Callable[[SettingsT, AbstractSet[str]], None],
        manager: ServiceManager,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make one.

        Args:
            load: reads the settings as at the start; raises StartError.
            in_force: those of the start.
            reloadable: keys that may change.
            take: makes the daemon work by these settings, of which these keys are new.
            manager: told that settings are being read.
            note: takes what came of it, for those who audit what operators do.
        """
        self._note = note
        self._load = load
        self._in_force = in_force
        self._reloadable = reloadable
        self._take = take
        self._manager = manager

    def reload(self) -> None:
        """Do it, and log what came of it. Never raises."""
        self._manager.reloading()
        try:
            reload, in_force = compare(self._in_force, self._load(), self._reloadable)
            self._take(in_force, frozenset(reload.taken))
        except StartError as error:
            _log.error("SIGHUP: the settings in force stay, the new ones are wrong: %s", error)
            self._note(f"refused: {error}")
        except Exception:  # noqa: BLE001 - a daemon that serves goes on
            _log.exception("SIGHUP: the settings in force stay, the new ones could not be taken")
            self._note("failed")
        else:
            self._note(str(reload))
            self._in_force = in_force
            if reload.left:  # in a place of its own: many reloads that did their work must not bound it
                _log.warning("SIGHUP: settings were read again; %s", reload)
            else:
                _log.info("SIGHUP: settings were read again; %s", reload)
        self._manager.ready()
