"""Plan how the filters in HDFS become those of a file.

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
class FilterUpdate:
    """A filter that the file changes."""

    before: Filter
    after: Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """The changes to carry out; each part is sorted by name."""

    added: tuple[Filter, ...] = ()
    changed: tuple[FilterUpdate, ...] = ()
    removed: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()  # not in the file, and kept
    broken: Mapping[str, str]  # in the file, but broken in HDFS, with the reason; left alone
    refused: Mapping[str, str] = field(
        default_factory=dict
    )  # added and changed ones beyond the limits, with the reason; if there are any, nothing is done
    unchanged: int = 0  # number of filters that are as in the file

    @property
    def is_empty(self) -> bool:
        """Whether HDFS has the filters of the file."""
        return not (self.added or self.changed or self.removed or self.broken)

    @property
    def pitfalls(self) -> tuple[str, ...]:
        """What new globs do not match although they look as if they did (`nncache.hadoop.glob_syntax.pitfall`)."""
        new = [each.path_glob for each in self.added]
        new += [
            each.after.path_glob for each in self.changed if each.before.path_glob != each.after.path_glob
        ]
        return tuple(trouble for glob in dict.fromkeys(new) if (trouble := pitfall(glob)))

    @property
    def steps(self) -> int:
        """The number of filters to add, change or remove."""
        return len(self.added) + len(self.changed) + len(self.removed)


def plan_file(
    entries: Iterable[FileEntry],
    stored: StoredFilters,
    *,
    user: str,
    prune: bool,
    limits: FilterSettings | None = None,
) -> FilePlan:
    """Compare the file with HDFS. A new filter without an owner belongs to `user`; `prune` removes unlisted filters.

    Values that an entry leaves out stay as they are.

    Raises:
        FilterError: `user` cannot own a filter.
    """
    added: list[Filter] = []
    changed: list[FilterUpdate] = []
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
            changed.append(FilterUpdate(has, wanted))
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
