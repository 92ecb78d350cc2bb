"""SIGHUP applies valid settings. Invalid settings change nothing."""

import logging
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import pytest

from nncache.daemons.reloader import OF_PROXY, OF_PUBLISHER, Reload, Reloader, compare
from nncache.daemons.service_manager import ServiceManager
from nncache.errors import ConfigurationError
from nncache.settings.commands import PROXY, PUBLISHER, SettingsOfProxy, load_settings


@dataclass(frozen=True)
class Part:
    """Some settings."""

    glob: str = "/a"
    listen: str = "h:1"


@dataclass(frozen=True)
class Settings:
    """The settings of one component."""

    part: Part = field(default_factory=Part)


class Manager(ServiceManager):
    """Records its notifications."""

    def __init__(self) -> None:
        super().__init__({})
        self.heard = list[str]()

    def ready(self) -> None:
        """Record the notification."""
        self.heard.append("ready")

    def reloading(self) -> None:
        """Record the notification."""
        self.heard.append("reloading")


class Fixture:
    """A daemon's side of a reload."""

    def __init__(self) -> None:
        self.wanted: Settings | Exception = Settings()
        self.taken = list[tuple[Settings, AbstractSet[str]]]()
        self.fails: Exception | None = None
        self.manager = Manager()
        self.noted = list[str]()
        self.reloader = Reloader(self.load, Settings(), {"glob"}, self.take, self.manager, self.noted.append)

    def load(self) -> Settings:
        """Load the settings file."""
        if isinstance(self.wanted, Exception):
            raise self.wanted
        return self.wanted

    def take(self, settings: Settings, changed: AbstractSet[str]) -> None:
        """Apply the changed settings."""
        if self.fails is not None:
            raise self.fails
        self.taken.append((settings, changed))


def test_what_has_changed_is_taken_once(caplog: pytest.LogCaptureFixture) -> None:
    """Settings that need a restart are named at each reload, as a warning."""
    caplog.set_level(logging.INFO)
    s = Fixture()
    s.wanted = Settings(Part("/b", "h:2"))
    s.reloader.reload()
    s.reloader.reload()
    in_force = Settings(Part("/b", "h:1"))
    assert s.taken == [(in_force, {"glob"}), (in_force, frozenset())]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "SIGHUP: settings were read again; changed: glob; needs a restart: listen"),
        ("WARNING", "SIGHUP: settings were read again; needs a restart: listen"),
    ]
    assert s.manager.heard == ["reloading", "ready"] * 2
    assert s.noted == ["changed: glob; needs a restart: listen", "needs a restart: listen"]


@pytest.mark.parametrize(
    ("failure", "logged", "noted"),
    [
        (
            ConfigurationError("glob: [: is none"),
            "the new ones are wrong: glob: [: is none",
            "refused: glob: [: is none",
        ),
        (LookupError("a bug"), "the new ones could not be taken", "failed"),
    ],
)
def test_a_wrong_file_changes_nothing(
    failure: Exception, logged: str, noted: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon continues, and the service manager is notified. The next valid file is applied."""
    s = Fixture()
    s.wanted = failure
    s.reloader.reload()
    assert s.taken == []
    assert caplog.messages == [f"SIGHUP: the settings in force stay, {logged}"]
    assert s.manager.heard == ["reloading", "ready"]
    assert s.noted == [noted]
    s.wanted = Settings(Part("/b"))
    s.fails = LookupError("a bug")
    s.reloader.reload()
    s.fails = None
    s.reloader.reload()
    assert s.taken == [(s.wanted, {"glob"})]


def settings(**flags: object) -> SettingsOfProxy:
    """Return the settings at a start."""
    return load_settings(PROXY, None, {"namenode_http": ("h:1",), "namenode_rpc": ("h:2",), **flags})


def test_what_may_change_does_and_the_rest_stays() -> None:
    """The next reload compares with the settings in force, not with the file."""
    before = settings(glob=("/a/*",), max_calls="9")
    wanted = settings(glob=("/b/*",), max_calls="8", log_level="debug")
    reload, in_force = compare(before, wanted, OF_PROXY)
    assert reload == Reload(taken=("glob", "log_level"), left=("max_calls",))
    assert in_force == settings(glob=("/b/*",), max_calls="9", log_level="debug")
    assert compare(in_force, wanted, OF_PROXY) == (Reload(taken=(), left=("max_calls",)), in_force)


def test_without_a_change_nothing_does() -> None:
    """The settings in force stay equal."""
    assert compare(settings(), settings(), OF_PROXY) == (Reload((), ()), settings())


@pytest.mark.parametrize(
    ("reload", "text"),
    [
        (Reload((), ()), "no setting has changed"),
        (Reload(("glob", "log_level"), ()), "changed: glob, log_level"),
        (Reload((), ("listen",)), "needs a restart: listen"),
        (Reload(("glob",), ("listen", "admin")), "changed: glob; needs a restart: listen, admin"),
    ],
)
def test_a_reload_is_described_in_a_line(reload: Reload, text: str) -> None:
    """The operator sees which settings are in force."""
    assert str(reload) == text


def test_the_keys_are_keys() -> None:
    """Each reloadable key is a setting of its daemon."""
    assert PROXY.keys.keys() >= OF_PROXY
    assert PUBLISHER.keys.keys() >= OF_PUBLISHER
