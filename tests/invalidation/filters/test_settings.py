"""FilterSettings: only a directory of which events tell."""

from dataclasses import fields

import pytest

from nncache.invalidation.filters.settings import FilterSettings
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    "path", ["", "/", "apps", "/apps/", "//apps", "/a/../b", "/.reserved/raw/a", "/a/.snapshot/b", "/a\0"]
)
def test_what_is_no_directory_that_events_name_is_refused(path: str) -> None:
    """The publisher learns of a change of the filters from the events of their directory."""
    with pytest.raises(
        SettingError, match="must be a canonical path of HDFS such as /apps/nncache/filters"
    ) as caught:
        FilterSettings(filters_path=path)
    assert caught.value.key == "filters_path"


def test_the_default_is_allowed_and_explained() -> None:
    """The field has one sentence of help."""
    assert FilterSettings().filters_path == "/apps/nncache/filters"
    assert all(key.metadata["help"].endswith(".") for key in fields(FilterSettings))


@pytest.mark.parametrize(
    ("key", "value"), [("min_wildcard_level", 0), ("max_filters", -1), ("max_filters_per_owner", -1)]
)
def test_a_limit_is_one(key: str, value: int) -> None:
    """0 stands for any number of filters; there is no level above the first."""
    with pytest.raises(SettingError, match=f"{key}.*must be {value + 1} or more"):
        FilterSettings(**{key: value})  # type: ignore[arg-type]  # a number
