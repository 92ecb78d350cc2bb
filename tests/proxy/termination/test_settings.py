"""What does not fit together is refused with the key to change."""

from typing import Any

import pytest

from nncache.net.setting_error import SettingError
from nncache.proxy.termination.settings import TerminationSettings

GOOD: dict[str, Any] = {
    "spnego_principal": ("HTTP/_HOST@EXAMPLE.COM",),
    "spnego_keytab": "/k",
    "cookie_secret_file": "/s",
}


def test_it_is_off_unless_a_principal_is_named() -> None:
    """By default."""
    assert not TerminationSettings().is_on
    assert TerminationSettings(**GOOD).is_on


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spnego_principal", ("nncache/_HOST@EXAMPLE.COM",)),
        ("spnego_principal", ("HTTP",)),
        ("spnego_principal", ("HTTP/a b",)),
        ("spnego_keytab", ""),
        ("cookie_secret_file", ""),
        ("cookie_validity_s", 0),
        ("max_handshakes", 0),
    ],
)
def test_a_wrong_value_is_named(key: str, value: object) -> None:
    """With its key."""
    with pytest.raises(SettingError, match=f"^{key}: "):
        TerminationSettings(**{**GOOD, key: value})


@pytest.mark.parametrize("key", ["spnego_keytab", "cookie_secret_file"])
def test_a_file_without_a_principal_is_a_mistake(key: str) -> None:
    """Clients would not be authenticated, and the operator would think so."""
    with pytest.raises(SettingError, match=f"^{key}: .*spnego_principal"):
        TerminationSettings(**dict[str, Any]({key: "/f"}))
