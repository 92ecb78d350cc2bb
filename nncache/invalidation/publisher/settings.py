"""The settings of the publisher."""

from dataclasses import dataclass, field
from typing import Final

from nncache.coordination.acl import parse_acl_entry
from nncache.invalidation.settings import ZOOKEEPER
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError

USER: Final = "{user}"
"""The placeholder for the name of an HDFS user in `zookeeper_subscriber_id`."""

_SUBSCRIBER_SCHEMES: Final = ("sasl", "x509")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings:
    """How much is written where, and how often. Raises SettingError: a value is outside its allowed range."""

    admin: str = field(
        default="127.0.0.1:9873",
        metadata={"help": "host:port of the publisher's status, health, readiness, metrics and filters."},
    )
    output_stream: str = field(
        default=ZOOKEEPER,
        metadata={
            "help": f"Where events are published: {ZOOKEEPER}, or package.module:Class, an "
            "InotifyEventOutputStream."
        },
    )
    max_write_ops_per_s: float = field(
        default=20.0,
        metadata={
            "help": "ZooKeeper transactions a second in the long run (twice as many at once after a quiet time). "
            "More changes than that share records."
        },
    )
    max_events_per_s_per_filter: float = field(
        default=1000.0,
        metadata={
            "help": "Events a second that each filter may have in the long run, and those of a minute at once. Of a "
            "filter over it the next events are left out: its subscribers learn which transactions they miss, and no "
            "other filter and no cache is concerned. 0: any number."
        },
    )
    max_buffered_events: int = field(
        default=20_000,
        metadata={
            "help": "Events that may wait to be published, some megabytes; one of more than 1 KiB counts as several. "
            "Beyond that the filter with the most loses its latest ones, and its subscribers learn which transactions "
            "they miss; no cache is concerned. Edits that are read late, after an outage, wait in the NameNode's log."
        },
    )
    coverage_interval_s: float = field(
        default=0.5,
        metadata={
            "help": "Seconds between two records that only say how far the edits have been read, while "
            "no change concerns a filter."
        },
    )
    max_records_per_filter: int = field(
        default=256,
        metadata={
            "help": "Records kept for each filter, and for the caches; readers further behind miss events."
        },
    )
    max_changes_per_record: int = field(
        default=1024,
        metadata={
            "help": "Paths that one record names for caches to forget; beyond that, siblings are forgotten as "
            "the subtree of their parent."
        },
    )
    filters_reread_s: float = field(
        default=600.0,
        metadata={
            "help": "Seconds after which all filters are read from HDFS again at the latest, with at most three calls "
            "for each. A change of a filter is seen in the edits, and that filter is read at once, or every 30 s while "
            "it keeps changing."
        },
    )

    zookeeper_acl: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Who beside this publisher has which rights to all that it writes to ZooKeeper, "
            "scheme:id:permissions each as in ha.zookeeper.acl: other publishers with cdrwa, proxies with r. All "
            "others have none, but a filter's subscribers read that filter. world:anyone:cdrwa leaves everything open. "
            "Needs zookeeper_sasl or zookeeper_certificate."
        },
    )
    zookeeper_subscriber_id: str = field(
        default="",
        metadata={
            "help": "How ZooKeeper knows a user of HDFS that may read a filter, scheme:id with {user} in it, such as "
            "sasl:{user}@EXAMPLE.COM or x509:CN={user}. Empty: sasl:{user}@ with the realm of principal for "
            "zookeeper_sasl kerberos, sasl:{user} for digest."
        },
    )

    def __post_init__(self) -> None:
        parse_endpoint("admin", self.admin)
        for entry in self.zookeeper_acl:
            try:
                parse_acl_entry(entry)
            except ValueError as exc:
                raise SettingError("zookeeper_acl", entry, str(exc)) from exc
        scheme, _, form = self.zookeeper_subscriber_id.partition(":")
        if self.zookeeper_subscriber_id and (scheme not in _SUBSCRIBER_SCHEMES or form.count(USER) != 1):
            raise SettingError(
                "zookeeper_subscriber_id",
                self.zookeeper_subscriber_id,
                f"must be {' or '.join(_SUBSCRIBER_SCHEMES)}, a colon and an id with {USER} in it once, such as "
                f"sasl:{USER}@EXAMPLE.COM",
            )
        for key in ("max_write_ops_per_s", "coverage_interval_s", "filters_reread_s"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise SettingError(key, value, "must be more than 0")
        if not 0 <= self.max_events_per_s_per_filter < float("inf"):
            raise SettingError(
                "max_events_per_s_per_filter", self.max_events_per_s_per_filter, "must be 0 or more"
            )
        for key, least, most in (
            ("max_buffered_events", 1, 10_000_000),
            ("max_records_per_filter", 2, 10_000),
            ("max_changes_per_record", 1, 10_000),
        ):
            value = getattr(self, key)
            if not least <= value <= most:
                raise SettingError(key, value, f"must be from {least} to {most}")

    @property
    def admin_at(self) -> ListenAddress:
        """The address of the admin pages."""
        return parse_endpoint("admin", self.admin)
