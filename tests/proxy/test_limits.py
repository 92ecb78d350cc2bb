"""Settings that make no sense are refused in one line."""

import resource
from dataclasses import fields
from typing import Any

import pytest

from nncache.net.setting_error import SettingError
from nncache.proxy.limits import LimitSettings, reserve_files


def test_the_defaults_are_allowed() -> None:
    """And each says what it means."""
    LimitSettings()
    assert all(field.metadata["help"] for field in fields(LimitSettings))


@pytest.mark.parametrize("key", [field.name for field in fields(LimitSettings)])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_wrong_value_names_its_key(key: str, value: float) -> None:
    """Negative numbers and NaN are wrong everywhere."""
    values: dict[str, Any] = {key: value}
    with pytest.raises(SettingError, match=rf"^{key}: {value}: must be "):
        LimitSettings(**values)


@pytest.mark.parametrize("key", ["backlog", "max_head_bytes"])
def test_what_becomes_a_c_int_is_bounded(key: str) -> None:
    """Else the start, or each connection, would end in an OverflowError."""
    values: dict[str, Any] = {key: 2**31}
    with pytest.raises(SettingError, match=rf"^{key}: {2**31}: must be at most "):
        LimitSettings(**values)


def test_open_files_are_reserved_or_refused() -> None:
    """The limit is met at the start, not at the busiest moment."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        reserve_files(LimitSettings(max_connections=1000, upstream_connections=100), namenodes=2)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1392
        with pytest.raises(SettingError, match=r"^max_connections: 999999999: must be at most \d+ here"):
            reserve_files(LimitSettings(max_connections=999_999_999), namenodes=1)
        with pytest.raises(SettingError, match=r"^upstream_connections: 999999999: must be fewer here"):
            reserve_files(LimitSettings(upstream_connections=999_999_999), namenodes=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
