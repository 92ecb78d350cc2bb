"""The filters as read from HDFS."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.trust import Distrust


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFilters:
    """The result of reading HDFS; each part is by name."""

    filters: Mapping[str, Filter] = field(default_factory=dict)  # including untrusted ones
    broken: Mapping[str, str] = field(default_factory=dict)  # why each of the others is not a valid filter
    odd_subscribers: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # children of a filter's list that are not user names
    untrusted: Mapping[str, Distrust] = field(default_factory=dict)  # why other users may have written it
