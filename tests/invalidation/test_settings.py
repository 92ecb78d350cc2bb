"""Settings of this room: an invalid value is refused by name."""

from collections.abc import Callable

import pytest

from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.settings import PollingSettings, load_class
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        (PollingSettings, "poll_interval_s", 0.0),
        (PollingSettings, "poll_interval_s", float("nan")),
        (PollingSettings, "poll_budget_share", 0.0),
        (PollingSettings, "poll_budget_share", 1.5),
        (PollingSettings, "poll_budget_burst_s", -1.0),
        (PollingSettings, "roll_after_txids", 0),
        (PollingSettings, "roll_interval_s", -1.0),
        (PollingSettings, "roll_interval_s", float("nan")),
        (FilterSettings, "min_wildcard_level", 0),
        (FilterSettings, "max_filters", -1),
        (FilterSettings, "max_filters_per_owner", -1),
        (PublisherSettings, "admin", "nowhere"),
        (PublisherSettings, "max_write_ops_per_s", 0.0),
        (PublisherSettings, "max_write_ops_per_s", float("nan")),
        (PublisherSettings, "max_write_ops_per_s", float("inf")),
        (PublisherSettings, "coverage_interval_s", 0.0),
        (PublisherSettings, "filters_reread_s", -1.0),
        (PublisherSettings, "max_records_per_filter", 1),
        (PublisherSettings, "max_records_per_filter", 10_001),
        (PublisherSettings, "max_changes_per_record", 0),
        (PublisherSettings, "max_changes_per_record", 10_001),
        (PublisherSettings, "zookeeper_acl", ("sasl:proxy:r", "sasl:proxy")),
        (PublisherSettings, "zookeeper_subscriber_id", "sasl:joe"),
        (PublisherSettings, "zookeeper_subscriber_id", "sasl:{user}{user}"),
        (PublisherSettings, "zookeeper_subscriber_id", "digest:{user}"),
        (PublisherSettings, "zookeeper_subscriber_id", "{user}"),
    ],
)
def test_a_wrong_value_is_refused_by_name(settings: Callable[..., object], key: str, value: object) -> None:
    """The error names the setting and the allowed values."""
    with pytest.raises(SettingError, match=f"^{key}: .*must be ") as raised:
        settings(**{key: value})
    assert raised.value.key == key


@pytest.mark.parametrize(
    "path", ["", "/", "apps", "/apps/", "//apps", "/a/../b", "/.reserved/raw/a", "/a/.snapshot/b", "/a\0"]
)
def test_what_is_no_directory_that_events_name_is_refused(path: str) -> None:
    """Events of the directory tell the publisher that filters have changed."""
    with pytest.raises(
        SettingError, match=r"^filters_path: .*must be a canonical path of HDFS such as /apps/nncache/filters"
    ):
        FilterSettings(filters_path=path)


def test_the_pages_are_on_loopback() -> None:
    """No port is open to a network until an operator opens it."""
    assert PublisherSettings().admin_at == ListenAddress("127.0.0.1", 9873)


HERE = __name__


class Bird:
    """The required base class."""


class Duck(Bird):
    """A class of the required kind."""


class Stone:
    """A class of another kind."""


BUILT_IN = {"duck": f"{HERE}:Duck", "any": f"{HERE}:Bird"}


def test_a_built_in_class_has_a_short_name() -> None:
    """The short name and the full name both load the class itself."""
    assert load_class("bird", "duck", BUILT_IN, Bird) is Duck
    assert load_class("bird", f"{HERE}:Bird", BUILT_IN, Bird) is Bird


@pytest.mark.parametrize(
    "name",
    [
        "",
        "goose",
        HERE,
        f"{HERE}:",
        ":Duck",
        f"{HERE}:Stone",
        f"{HERE}:BUILT_IN",
        "no.such:Duck",
        "..no:Duck",
    ],
)
def test_a_wrong_name_is_a_wrong_setting(name: str) -> None:
    """The error names the setting, its value and the allowed values."""
    with pytest.raises(
        SettingError, match=r"^bird: .*must be duck, any or package\.module:Class, an Bird"
    ) as raised:
        load_class("bird", name, BUILT_IN, Bird)
    assert (raised.value.key, raised.value.value) == ("bird", name)
