"""The settings of the filters: where they are kept, and their limits."""

from dataclasses import dataclass, field

from nncache.hadoop.paths import ROOT, InvalidPathError, canonical, is_cacheable
from nncache.net.setting_error import SettingError

DEFAULT_PATH = "/apps/nncache/filters"
"""The default of `filters_path`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """Where the filters of a nameservice are, and their limits.

    The publisher refuses filters beyond these limits; the commands that write filters refuse them first.

    Raises:
        SettingError: no event names a change in that directory, or it is not a path; or a limit is invalid.
    """

    filters_path: str = field(
        default=DEFAULT_PATH,
        metadata={"help": "HDFS directory of the filters; `nncache filters add` creates it."},
    )
    min_wildcard_level: int = field(
        default=2,
        metadata={
            "help": "Minimum level of the path, 1 below the root, for the first wildcard of a filter's glob. 2 allows "
            "/user/*/x and refuses /*/x; 3 also refuses /user/*/x. 1: no limit. A filter that is in force stays in "
            "force."
        },
    )
    max_filters: int = field(
        default=7_500,
        metadata={
            "help": "Maximum number of filters. If there are more, those created first are published; those in force "
            "stay in force. 0: no limit. Each takes some kilobytes in the publisher and every proxy, and its records "
            "in ZooKeeper. Even with the longest names, 7,500 fit into one reply of ZooKeeper (jute.maxbuffer, 1 MiB)."
        },
    )
    max_filters_per_owner: int = field(
        default=0,
        metadata={
            "help": "Maximum number of filters that one user owns. If there are more, those created first are "
            "published; those in force stay in force. 0: no limit."
        },
    )

    def __post_init__(self) -> None:
        if not _is_directory(self.filters_path):
            raise SettingError(
                "filters_path",
                self.filters_path,
                f"must be a canonical path of HDFS such as {DEFAULT_PATH}: single slashes, none at the end, no . or ..",
            )
        for key, least in (("min_wildcard_level", 1), ("max_filters", 0), ("max_filters_per_owner", 0)):
            value = getattr(self, key)
            if value < least:
                raise SettingError(key, value, f"must be {least} or more")


def _is_directory(path: str) -> bool:
    try:
        return path == canonical(path) != ROOT and is_cacheable(path)
    except InvalidPathError:
        return False
