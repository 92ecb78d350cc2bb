"""Decide which filters are refused, and why.

Pure. Limits apply to new filters: a filter in force stays in force when a limit becomes stricter, as with a
ResourceQuota of Kubernetes. Otherwise an operator's mistake would take filters away from all tenants.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from nncache.hadoop.glob_syntax import first_wildcard_level
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings


def too_general(glob: str, limits: FilterSettings) -> str:
    """Return why a glob is too general; "" if it is not."""
    level = first_wildcard_level(glob)
    if level is None or level >= limits.min_wildcard_level:
        return ""
    return (
        f"{glob} has a wildcard in level {level} of the path: the first may be in level "
        f"{limits.min_wildcard_level} (min_wildcard_level); name a directory above it, or give a glob for each"
    )


def no_room(filters: int, limits: FilterSettings) -> str:
    """Return why no filter can be added to this many; "" if one can."""
    if not limits.max_filters or filters < limits.max_filters:
        return ""
    return f"there are {filters} filters already (max_filters)"


def over_quota(owner: str, filters: int, limits: FilterSettings) -> str:
    """Return why this user, who owns this many filters, can own no more; "" if that is possible."""
    if not limits.max_filters_per_owner or filters < limits.max_filters_per_owner:
        return ""
    return f"{owner} owns {filters} filters already (max_filters_per_owner)"


def refusals(
    filters: Mapping[str, Filter],
    limits: FilterSettings,
    *,
    globs: Mapping[str, str],
    placed: Collection[str],
    owned: Collection[str],
) -> dict[str, str]:
    """Return the names of the filters that are refused, each with the reason.

    The filters that were created first have priority; those that are not in HDFS yet come last.

    Args:
        filters: all filters of the new set, by name.
        limits: what is allowed.
        globs: the globs in force, by the names of their filters: they are not too general.
        placed: names of the filters that already count towards max_filters.
        owned: names of the filters that already count for their owner.
    """
    refused: dict[str, str] = {}
    count = len(placed)
    of_owner = Counter(filters[name].owner for name in owned if name in filters)
    order = sorted(filters.values(), key=lambda each: (not each.file_id, each.file_id, each.name))
    for each in order:
        is_placed, is_owned = each.name in placed, each.name in owned
        reason = (
            ("" if globs.get(each.name) == each.path_glob else too_general(each.path_glob, limits))
            or ("" if is_placed else no_room(count, limits))
            or ("" if is_owned else over_quota(each.owner, of_owner[each.owner], limits))
        )
        if reason:
            refused[each.name] = reason
            continue
        count += not is_placed
        of_owner[each.owner] += not is_owned
    return refused


def refused_changes(
    before: Mapping[str, Filter], after: Mapping[str, Filter], limits: FilterSettings
) -> dict[str, str]:
    """Return the filters that are refused when `before` becomes `after`, by name: unchanged filters may stay."""
    return refusals(
        after,
        limits,
        globs={name: each.path_glob for name, each in before.items()},
        placed=before.keys() & after.keys(),
        owned={name for name, each in before.items() if name in after and after[name].owner == each.owner},
    )
