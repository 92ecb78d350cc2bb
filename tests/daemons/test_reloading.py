"""Which settings change while a daemon runs."""

import pytest

from nncache.daemons.reloading import OF_PROXY, OF_PUBLISHER, Reload, compare
from nncache.settings.commands import PROXY, PUBLISHER, SettingsOfProxy, load_settings


def settings(**flags: object) -> SettingsOfProxy:
    """Return the settings of a start."""
    return load_settings(PROXY, None, {"namenode_http": ("h:1",), "namenode_rpc": ("h:2",), **flags})


def test_what_may_change_does_and_the_rest_stays() -> None:
    """What is in force afterwards says so, so that the next reload compares with that."""
    before = settings(glob=("/a/*",), max_calls="9")
    wanted = settings(glob=("/b/*",), max_calls="8", log_level="debug")
    reload, in_force = compare(before, wanted, OF_PROXY)
    assert reload == Reload(taken=("glob", "log_level"), left=("max_calls",))
    assert in_force == settings(glob=("/b/*",), max_calls="9", log_level="debug")
    assert compare(in_force, wanted, OF_PROXY) == (Reload(taken=(), left=("max_calls",)), in_force)


def test_without_a_change_nothing_does() -> None:
    """Neither is anything said to."""
    assert compare(settings(), settings(), OF_PROXY) == (Reload((), ()), settings())


@pytest.mark.parametrize(
    ("reload", "said"),
    [
        (Reload((), ()), "no setting has changed"),
        (Reload(("glob", "log_level"), ()), "changed: glob, log_level"),
        (Reload((), ("listen",)), "needs a restart: listen"),
        (Reload(("glob",), ("listen", "admin")), "changed: glob; needs a restart: listen, admin"),
    ],
)
def test_it_is_said_in_a_line(reload: Reload, said: str) -> None:
    """The operator reads what holds."""
    assert str(reload) == said


def test_the_keys_are_keys() -> None:
    """Of the daemon that takes them."""
    assert PROXY.keys.keys() >= OF_PROXY
    assert PUBLISHER.keys.keys() >= OF_PUBLISHER
