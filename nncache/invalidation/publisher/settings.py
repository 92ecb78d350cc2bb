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
            "help": f"Destination of events: {ZOOKEEPER}, or package.module:Class, an InotifyEventOutputStream."
        },
    )
    max_write_ops_per_s: float = field(
        default=20.0,
        metadata={
            "help": "Maximum ZooKeeper transactions a second in the long run (twice as many at once after a quiet "
            "time). Beyond that, changes share records."
        },
    )
    max_events_per_s_per_filter: float = field(
        default=1000.0,
        metadata={
            "help": "Maximum events a second of each filter in the long run; those of a minute may come at once. "
            "Beyond that, the filter's next events are left out and its subscribers learn which transactions they "
            "miss; other filters and caches are not affected. 0: no limit."
        },
    )
    max_buffered_events: int = field(
        default=20_000,
        metadata={
            "help": "Maximum number of events that wait to be published, some megabytes; one of more than 1 KiB counts "
            "as several. Beyond that, the filter with the most events loses its latest ones, and its subscribers learn "
            "which transactions they miss; caches are not affected. Edits that are read late, after an outage, wait in "
            "the NameNode's log."
        },
    )
    coverage_interval_s: float = field(
        default=0.5,
        metadata={
            "help": "Seconds between two records that only report how far the edits have been read, while no change "
            "concerns a filter."
        },
    )
    max_records_per_filter: int = field(
        default=256,
        metadata={
            "help": "Records kept for each filter, and for the caches. Readers further behind miss events."
        },
    )
    max_changes_per_record: int = field(
        default=1024,
        metadata={
            "help": "Maximum number of paths that one record makes caches forget. Beyond that, caches forget the "
            "subtree of the parent instead of siblings."
        },
    )
    filters_reread_s: float = field(
        default=600.0,
        metadata={
            "help": "Maximum seconds until all filters are read from HDFS again, with at most three calls for each. If "
            "the edits show a change of a filter, it is read at once, or every 30 s while it keeps changing."
        },
    )

    zookeeper_acl: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Rights of others to all that this publisher writes to ZooKeeper, scheme:id:permissions each as in "
            "ha.zookeeper.acl: cdrwa for other publishers, r for proxies. All others have none, but a filter's "
            "subscribers may read that filter. world:anyone:cdrwa leaves everything open. Requires zookeeper_sasl or "
            "zookeeper_certificate."
        },
    )
    zookeeper_subscriber_id: str = field(
        default="",
        metadata={
            "help": "ZooKeeper identity of an HDFS user that may read a filter, scheme:id with {user} in it, such as "
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
