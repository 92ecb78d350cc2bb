"""The filters as HDFS has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.trust import Distrust


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFilters:
    """What a reading of HDFS brings; each part is by name."""

    filters: Mapping[str, Filter] = field(default_factory=dict)  # untrusted ones too
    broken: Mapping[str, str] = field(default_factory=dict)  # why each of the others is no filter
    odd_subscribers: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # children of a filter's list that are no user names
    untrusted: Mapping[str, Distrust] = field(default_factory=dict)  # why others may have written it
