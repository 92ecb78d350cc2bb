"""The output of filters: a table on a terminal, columns and JSON elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from nncache.invalidation.filters.definition import Filter, filter_as_json
from nncache.invalidation.filters.file_plan import FilePlan
from nncache.invalidation.filters.filter_file import BadFilterFileError
from nncache.invalidation.filters.hdfs_bulk import Done
from nncache.invalidation.filters.hdfs_reader import StoredFilter
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.filters.trust import Distrust, by_distrust
from nncache.logs import one_line
from nncache.net.some_names import some_names

HEADINGS = ("NAME", "GLOB", "OWNER", "SUBSCRIBERS")
NONE = "-"
"""The cell of a filter without subscribers: each line has all columns."""

SHOWN = 8
"""The most subscribers of a filter that are named."""


def columns(stored: StoredFilters) -> Iterator[str]:
    """Yield a line of headings, then one line per filter, for people and for `awk` alike."""
    rows = [HEADINGS, *map(_cells, stored.filters.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(each: Filter) -> tuple[str, ...]:
    return (
        each.name,
        one_line(each.path_glob),
        each.owner,
        ",".join(each.allowed_subscribers) or NONE,
    )


def table(stored: StoredFilters) -> Table:
    """Return the filters as a table, with at most SHOWN subscribers of each."""
    made = Table(box=box.SIMPLE, pad_edge=False)
    for heading in HEADINGS:
        made.add_column(heading.lower(), overflow="fold")
    for each in stored.filters.values():
        # As Text: a glob's brackets are not markup.
        made.add_row(
            Text(each.name, style="bold"),
            Text(one_line(each.path_glob)),
            Text(each.owner),
            Text(some_names(each.allowed_subscribers, shown=SHOWN) or NONE),
        )
    return made


def all_as_json(stored: StoredFilters, refused: Mapping[str, str]) -> str:
    """Return all filters as JSON, with the broken and refused ones, under the names of HDFS-8940."""
    all_refused: dict[str, str | Distrust] = {**refused, **stored.untrusted}
    return json.dumps(
        {
            "filters": list(map(filter_as_json, stored.filters.values())),
            "broken": [{"name": name, "reason": reason} for name, reason in stored.broken.items()],
            "refused": [{"name": name, "reason": str(reason)} for name, reason in all_refused.items()],
        },
        indent=2,
    )


def details(stored: StoredFilter) -> Iterator[str]:
    """Yield the lines of one filter."""
    each = stored.filter
    yield each.name
    yield f"  glob         {one_line(each.path_glob)}"
    yield f"  owner        {each.owner}"
    yield f"  subscribers  {', '.join(each.allowed_subscribers) or 'none'}"


def complaints(stored: StoredFilters, refused: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a line for each filter or subscriber that is not in effect.

    `refused` are the filters beyond the limits, with the reasons. A publisher with these limits refuses each of them,
    unless the filter was in force before.
    """
    for why, names in by_distrust(stored.untrusted).items():
        yield untrusted(names, why)
    for name, reason in (refused or {}).items():
        yield one_line(f"refused, unless it was in force before the limit: {name}: {reason}")
    for name, reason in stored.broken.items():
        yield one_line(f"broken: {name}: {reason}")
    for name, odd in stored.odd_subscribers.items():
        yield from odd_subscribers(name, odd)


def untrusted(names: Sequence[str], why: Distrust) -> str:
    """Return the line about filters that other users may have written."""
    return one_line(f"refused by the publisher: {some_names(names)}: {why}")


def odd_subscribers(name: str, odd: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for each name in a filter's list of subscribers that is not a user name."""
    for user in odd:
        yield one_line(f"ignored: {name}: {user!r} among its subscribers is no user name")


def plan_lines(plan: FilePlan) -> Iterator[str]:
    """Yield a line for each change of the plan: + adds a filter, ~ changes one, - removes one."""
    for new in plan.added:
        yield one_line(
            f"+ {new.name}  {new.path_glob}  owner {new.owner}  subscribers {_users(new.allowed_subscribers)}"
        )
    for change in plan.changed:
        yield one_line(f"~ {change.before.name}  {'; '.join(differences(change.before, change.after))}")
    for name in plan.removed:
        yield one_line(f"- {name}")


def remarks(plan: FilePlan) -> Iterator[str]:
    """Yield remarks about the plan: broken, refused and unlisted filters, and pitfalls of globs."""
    for name, reason in plan.broken.items():
        yield one_line(f"broken: {name}: {reason}: left alone; remove it and apply the file again")
    for name, reason in plan.refused.items():
        yield one_line(f"refused: {name}: {reason}")
    for trouble in plan.pitfalls:
        yield one_line(trouble)
    if plan.unlisted:
        names = some_names(plan.unlisted, shown=SHOWN)
        yield one_line(f"not in the file, and kept (--prune removes what is not): {names}")


def plan_as_json(plan: FilePlan, done: Done | None = None) -> dict[str, object]:
    """Return the plan as a JSON object; if it was carried out, with the numbers of changed filters."""
    shown: dict[str, object] = {
        "added": [*map(filter_as_json, plan.added)],
        "changed": [
            {"before": filter_as_json(each.before), "after": filter_as_json(each.after)}
            for each in plan.changed
        ],
        "removed": [*plan.removed],
        "notInFile": [*plan.unlisted],
        "broken": [{"name": name, "reason": reason} for name, reason in plan.broken.items()],
        "refused": [{"name": name, "reason": reason} for name, reason in plan.refused.items()],
        "pitfalls": [*plan.pitfalls],
        "unchanged": plan.unchanged,
    }
    if done is not None:
        shown["done"] = {"added": done.added, "changed": done.changed, "removed": done.removed}
    return shown


def summary(done: Done, unchanged: int) -> str:
    """Return the numbers of changed and unchanged filters, in one line."""
    return (
        f"filters: {done.added} added, {done.changed} changed, {done.removed} removed, {unchanged} unchanged"
    )


def fault_lines(file: str, error: BadFilterFileError) -> Iterator[str]:
    """Yield a line for each error in the file, in the format of compilers."""
    for fault in error.faults:
        where = file if fault.line is None else f"{file}:{fault.line}"
        yield one_line(f"{where}: {fault.reason}")


def differences(before: Filter, after: Filter) -> Iterator[str]:
    """Yield each difference between two versions of a filter."""
    if before.path_glob != after.path_glob:
        yield f"glob {before.path_glob} -> {after.path_glob}"
    if before.owner != after.owner:
        yield f"owner {before.owner} -> {after.owner}"
    had, has = set(before.allowed_subscribers), set(after.allowed_subscribers)
    signs = [f"+{user}" for user in sorted(has - had)] + [f"-{user}" for user in sorted(had - has)]
    if signs:
        yield f"subscribers {' '.join(signs)}"


def _users(users: tuple[str, ...]) -> str:
    return ",".join(users) or NONE
