"""Where the filters are kept. (invalidation/filters/settings.py)"""

from dataclasses import dataclass, field

from nncache.hadoop.paths import ROOT, InvalidPathError, canonical, is_cacheable
from nncache.hadoop.settings import SettingError

DEFAULT_PATH = "/apps/nncache/filters"
"""Unless an operator says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """Where the filters of a nameservice are.

    Raises:
        SettingError: no event would name what changes there, or it is no path at all.
    """

    filters_path: str = field(
        default=DEFAULT_PATH,
        metadata={"help": "HDFS directory of the filters; `nncache filters add` creates it."},
    )

    def __post_init__(self) -> None:
        if not _is_directory(self.filters_path):
            raise SettingError(
                "filters_path",
                self.filters_path,
                f"must be a canonical path of HDFS such as {DEFAULT_PATH}: single slashes, none at the end, no . or ..",
            )


def _is_directory(path: str) -> bool:
    try:
        return path == canonical(path) != ROOT and is_cacheable(path)
    except InvalidPathError:
        return False
