"""The settings of the cache."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from nncache.hadoop.globs import GlobError, compile_glob
from nncache.net.setting_error import SettingError

GrantScope = Literal["per_directory", "per_path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Limits of one cache. Raises SettingError if a value is outside the range of its key."""

    glob: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Hadoop glob of the paths whose status may be answered from memory; repeatable. With channel "
            "zookeeper, the filters in HDFS apply instead."
        },
    )
    max_staleness_s: float = field(
        default=3.0,
        metadata={"help": "Seconds after which an acknowledged change must be visible (guarantee Bounded)."},
    )
    max_entry_age_s: float = field(
        default=3600.0,
        metadata={
            "help": "Seconds after which a cached entry is fetched again even if no event named it. This bounds how "
            "long a change for which HDFS sends no event (storage policy, erasure coding of sub-directories) stays "
            "unseen."
        },
    )
    grant_ttl_s: float = field(
        default=300.0,
        metadata={
            "help": "Seconds for which the proof that a caller may traverse a directory is valid. The NameNode caches "
            "group membership for the same time (hadoop.security.groups.cache.secs = 300)."
        },
    )
    grants: GrantScope = field(
        default="per_directory",
        metadata={
            "help": "per_directory: a grant holds for all paths of a directory, as in HDFS itself. per_path: the "
            "status of a directory is proven for each caller and path, for clusters with an attribute provider such as "
            "Ranger."
        },
    )
    max_cache_bytes: int = field(
        default=1024 * 1024 * 1024,
        metadata={
            "help": "Maximum bytes that the cache uses for entries, grants, directories, prepared answers and requests "
            "in flight. One status with its answer takes about 1,100 bytes (docs/sizing.md)."
        },
    )
    max_cache_entries: int = field(
        default=2_000_000,
        metadata={
            "help": "Maximum number of entries and grants in the cache; a second limit, reached before max_cache_bytes "
            "if few requests are repeated."
        },
    )
    two_step_window_s: float = field(
        default=600.0,
        metadata={
            "help": "Seconds for which a path is forwarded after a redirected CREATE or APPEND, unless its CLOSE is "
            "seen first."
        },
    )
    max_two_step_windows: int = field(
        default=10_000,
        metadata={
            "help": "Maximum number of two-step writes (CREATE, APPEND) tracked at once, until their file is closed or "
            "`two_step_window_s` has passed. One caller, and one client address, gets at most a sixteenth of them; "
            "beyond that, the directory with most of its writes is forwarded. When all are in use, all calls are "
            "forwarded."
        },
    )

    def __post_init__(self) -> None:
        for key in ("max_staleness_s", "max_entry_age_s", "grant_ttl_s", "two_step_window_s"):
            if not getattr(self, key) > 0:
                raise SettingError(key, getattr(self, key), "must be more than 0 seconds")
        for key in ("max_cache_bytes", "max_cache_entries", "max_two_step_windows"):
            if not getattr(self, key) > 0:
                raise SettingError(key, getattr(self, key), "must be more than 0")
        if self.grants not in get_args(GrantScope):
            raise SettingError("grants", self.grants, "must be one of " + ", ".join(get_args(GrantScope)))
        for glob in self.glob:
            try:
                compile_glob(glob)
            except GlobError as exc:
                raise SettingError("glob", glob, f"must be a Hadoop glob: {exc}") from exc
