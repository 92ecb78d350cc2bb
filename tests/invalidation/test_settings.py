"""PollingSettings, ChannelSettings: each value outside what is allowed is refused by name."""

from typing import Any

import pytest

from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.settings import PollingSettings, load_class
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("poll_interval_s", 0.0),
        ("poll_interval_s", float("nan")),
        ("poll_budget_share", 0.0),
        ("poll_budget_share", 1.5),
        ("poll_budget_burst_s", -1.0),
        ("roll_after_txids", 0),
        ("roll_interval_s", -1.0),
        ("roll_interval_s", float("nan")),
    ],
)
def test_a_wrong_value_is_refused_by_name(key: str, value: Any) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(SettingError, match=f"^{key}: {value}: must be ") as raised:
        PollingSettings(**{key: value})
    assert raised.value.key == key


def test_never_rolling_is_allowed() -> None:
    """An interval of 0 means never."""
    assert PollingSettings(roll_interval_s=0).roll_interval_s == 0


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


@pytest.mark.parametrize(
    ("key", "value"), [("min_wildcard_level", 0), ("max_filters", -1), ("max_filters_per_owner", -1)]
)
def test_a_limit_is_one(key: str, value: int) -> None:
    """0 stands for any number of filters; there is no level above the first."""
    with pytest.raises(SettingError, match=f"{key}.*must be {value + 1} or more"):
        FilterSettings(**{key: value})  # type: ignore[arg-type]  # a number


def test_the_pages_are_on_loopback() -> None:
    """Nothing is open to a network before somebody says so."""
    assert PublisherSettings().admin_at == ListenAddress("127.0.0.1", 9873)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("admin", "nowhere"),
        ("max_write_ops_per_s", 0.0),
        ("max_write_ops_per_s", float("nan")),
        ("max_write_ops_per_s", float("inf")),
        ("coverage_interval_s", 0.0),
        ("filters_reread_s", -1.0),
        ("max_records_per_filter", 1),
        ("max_records_per_filter", 10_001),
        ("max_changes_per_record", 0),
        ("max_changes_per_record", 10_001),
        ("zookeeper_acl", ("sasl:proxy:r", "sasl:proxy")),
        ("zookeeper_subscriber_id", "sasl:joe"),
        ("zookeeper_subscriber_id", "sasl:{user}{user}"),
        ("zookeeper_subscriber_id", "digest:{user}"),
        ("zookeeper_subscriber_id", "{user}"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    """Each key says what it allows."""
    with pytest.raises(SettingError, match=f"^{key}: "):
        PublisherSettings(**{key: value})  # type: ignore[arg-type] # wrong on purpose


HERE = __name__


class Bird:
    """What is wanted."""


class Duck(Bird):
    """One of them."""


class Stone:
    """None of them."""


BUILT_IN = {"duck": f"{HERE}:Duck", "any": f"{HERE}:Bird"}


def test_a_built_in_class_has_a_short_name() -> None:
    """Both lead to the class itself."""
    assert load_class("bird", "duck", BUILT_IN, Bird) is Duck
    assert load_class("bird", f"{HERE}:Bird", BUILT_IN, Bird) is Bird


@pytest.mark.parametrize(
    "name", ["", ":", "goose", HERE, f"{HERE}:", ":Duck", f"{HERE}:Stone", f"{HERE}:BUILT_IN", "no.such:Duck"]
)
def test_a_wrong_name_is_a_wrong_setting(name: str) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(
        SettingError, match=r"^bird: .*must be duck, any or package\.module:Class, an Bird"
    ) as raised:
        load_class("bird", name, BUILT_IN, Bird)
    assert (raised.value.key, raised.value.value) == ("bird", name)
