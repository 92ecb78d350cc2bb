"""The places in which a secret is refused."""

import pytest

from nncache.settings.clear_secrets import (
    clear_keys,
    flag_of,
    in_environment,
    in_settings,
    on_command_line,
    unread,
)

KEYS = ("admin_token_file", "listen", "zookeeper_password_file")
TO_DO = "write it to a file of mode 0400, and name that file in"


@pytest.mark.parametrize(
    ("name", "to_do"),
    [
        ("admin_token", "admin_token_file"),
        ("zookeeper_password", "zookeeper_password_file"),
        ("keystore_password", "one of admin_token_file, zookeeper_password_file"),
        ("clientSecret".lower(), "one of admin_token_file, zookeeper_password_file"),
    ],
)
def test_a_secret_key_is_named_with_its_file_key(name: str, to_do: str) -> None:
    """Without a matching key, the error lists all file keys."""
    found = in_settings(name, KEYS)
    assert found == f"{name}: a secret must not stand in a settings file: {TO_DO} {to_do}"


@pytest.mark.parametrize(("name", "keys"), [("lisen", KEYS), ("password", ("listen",))])
def test_another_key_is_none_of_these(name: str, keys: tuple[str, ...]) -> None:
    """The key is merely misspelled, or no file key exists."""
    assert in_settings(name, keys) == ""


def test_a_variable_that_would_hold_a_secret_is_found() -> None:
    """No setting would use it, and others could read it. Other programs' variables are ignored."""
    names = ("NNCACHE_ADMIN_TOKEN", "NNCACHE_LISTEN", "NNCACHE_REQUIRE_KERBEROS", "ADMIN_TOKEN", "PATH")
    assert in_environment(names, KEYS) == (
        f"NNCACHE_ADMIN_TOKEN: a secret must not stand in the environment: {TO_DO} admin_token_file",
    )


def test_a_flag_that_would_hold_a_secret() -> None:
    """Each file key has one."""
    assert clear_keys(KEYS) == ("admin_token", "zookeeper_password")
    assert flag_of("admin_token") == "--admin-token"
    assert on_command_line("admin_token") == (
        f"--admin-token: a secret must not stand on the command line: {TO_DO} --admin-token-file"
    )


def test_a_variable_that_is_nearly_a_setting_is_named() -> None:
    """Variables that Kubernetes sets for a service of this name are ignored. A secret is refused elsewhere."""
    names = ("NNCACHE_LISTEN", "NNCACHE_LISTN", "LISTEN", "NNCACHE_ADMIN_TOKEN", "NNCACHE_REQUIRE_KERBEROS")
    of_kubernetes = (
        "NNCACHE_SERVICE_HOST",
        "NNCACHE_PORT_9871_TCP_ADDR",
        "NNCACHE_SERVICE_PORT",
        "NNCACHE_PORT",
    )
    assert unread((*names, *of_kubernetes), KEYS) == (
        "NNCACHE_LISTN in the environment means nothing: the nearest is NNCACHE_LISTEN",
    )
