"""Say what must be done for HDFS to have the filters of a file.

Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nncache.hadoop.glob_syntax import pitfall
from nncache.invalidation.filters.admission import refused_changes
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import FileEntry
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters


@dataclass(frozen=True, slots=True)
class Change:
    """A filter that the file wants otherwise."""

    before: Filter
    after: Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """What is to be done; each part is sorted by name."""

    added: tuple[Filter, ...] = ()
    changed: tuple[Change, ...] = ()
    removed: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()  # not in the file, and kept
    broken: Mapping[str, str]  # in the file, but what HDFS has of that name is no filter: why; left alone
    refused: Mapping[str, str] = field(
        default_factory=dict
    )  # among the added and changed ones, those beyond the limits: why; with any of them nothing is done
    unchanged: int = 0  # filters that are as the file wants them

    @property
    def is_empty(self) -> bool:
        """Whether HDFS has what the file says."""
        return not (self.added or self.changed or self.removed or self.broken)

    @property
    def pitfalls(self) -> tuple[str, ...]:
        """What globs that are new do not match, though it looks as if they did (`nncache.hadoop.glob_pitfalls`)."""
        new = [each.path_glob for each in self.added]
        new += [
            each.after.path_glob for each in self.changed if each.before.path_glob != each.after.path_glob
        ]
        return tuple(trouble for glob in dict.fromkeys(new) if (trouble := pitfall(glob)))

    @property
    def steps(self) -> int:
        """How many filters are to be touched."""
        return len(self.added) + len(self.changed) + len(self.removed)


def plan_file(
    entries: Iterable[FileEntry],
    stored: StoredFilters,
    *,
    user: str,
    prune: bool,
    limits: FilterSettings | None = None,
) -> FilePlan:
    """Compare; a new filter without an owner belongs to `user`, and with `prune` what is not in the file goes.

    What an entry leaves out stays as it is.

    Raises:
        FilterError: `user` cannot own a filter.
    """
    added: list[Filter] = []
    changed: list[Change] = []
    broken: dict[str, str] = {}
    unchanged = 0
    listed = set()
    for entry in sorted(entries, key=lambda each: each.name):
        listed.add(entry.name)
        has = stored.filters.get(entry.name)
        if entry.name in stored.broken:
            broken[entry.name] = stored.broken[entry.name]
        elif has is None:
            added.append(_wanted(entry, user, ()))
        elif (wanted := _wanted(entry, has.owner, has.allowed_subscribers)) != has:
            changed.append(Change(has, wanted))
        else:
            unchanged += 1
    after = {**stored.filters, **{each.name: each for each in (*added, *(each.after for each in changed))}}
    others = tuple(sorted((stored.filters.keys() | stored.broken.keys()) - listed))
    return FilePlan(
        added=tuple(added),
        changed=tuple(changed),
        removed=others if prune else (),
        unlisted=() if prune else others,
        broken=broken,
        refused=refused_changes(
            stored.filters,
            {name: each for name, each in after.items() if not (prune and name in others)},
            limits or FilterSettings(),
        ),
        unchanged=unchanged,
    )


def _wanted(entry: FileEntry, owner: str, users: tuple[str, ...]) -> Filter:
    return Filter(
        entry.name,
        entry.path_glob,
        owner if entry.owner is None else entry.owner,
        users if entry.allowed_subscribers is None else entry.allowed_subscribers,
    )
