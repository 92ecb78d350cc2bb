"""What an operator may choose about publishing. (invalidation/publisher/settings.py)"""

from dataclasses import dataclass, field

from nncache.hadoop.endpoint import Endpoint, parse_endpoint
from nncache.hadoop.settings import SettingError
from nncache.invalidation.settings import ZOOKEEPER


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings:
    """How much is written where, and how often.

    Raises:
        SettingError: a value is outside what its key allows.
    """

    admin: str = field(
        default="127.0.0.1:9873",
        metadata={"help": "host:port of the publisher's health, readiness and metrics pages."},
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
            "More changes than that share records; none is dropped."
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

    def __post_init__(self) -> None:
        parse_endpoint("admin", self.admin)
        for key in ("max_write_ops_per_s", "coverage_interval_s", "filters_reread_s"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise SettingError(key, value, "must be more than 0")
        for key, least, most in (
            ("max_records_per_filter", 2, 10_000),
            ("max_changes_per_record", 1, 10_000),
        ):
            value = getattr(self, key)
            if not least <= value <= most:
                raise SettingError(key, value, f"must be from {least} to {most}")

    @property
    def admin_at(self) -> Endpoint:
        """Where the admin pages are."""
        return parse_endpoint("admin", self.admin)
