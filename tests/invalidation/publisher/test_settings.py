"""Settings of the publisher are read strictly, and a wrong one is named."""

import pytest

from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.net.endpoint import Endpoint
from nncache.net.setting_error import SettingError


def test_the_pages_are_on_loopback() -> None:
    """Nothing is open to a network before somebody says so."""
    assert PublisherSettings().admin_at == Endpoint("127.0.0.1", 9873)


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
