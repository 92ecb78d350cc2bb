"""The cache's settings."""

from typing import Any

import pytest

from nncache.cache.settings import CacheSettings
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_staleness_s", 0.0),
        ("max_staleness_s", float("nan")),
        ("max_entry_age_s", -1.0),
        ("grant_ttl_s", 0.0),
        ("two_step_window_s", 0.0),
        ("max_cache_bytes", 0),
        ("max_cache_entries", 0),
        ("max_two_step_windows", -1),
        ("grants", "per_user"),
        ("glob", ("/a/[b",)),
    ],
)
def test_a_wrong_value_names_its_key(key: str, value: Any) -> None:
    """The error names the setting, its value and what is allowed."""
    with pytest.raises(SettingError) as caught:
        CacheSettings(**{key: value})
    assert caught.value.key == key
    assert key in str(caught.value)


def test_a_glob_of_hadoop_is_allowed() -> None:
    """Each glob is checked, and stored as it was written."""
    globs = ("/user/*/workflow/*/_SUCCESS", "/a")
    assert CacheSettings(glob=globs).glob == globs
