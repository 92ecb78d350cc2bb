"""How the plan of a file of filters looks: lines as of diff(1), or JSON."""

from collections.abc import Iterator

from nncache.invalidation.filters.definition import Filter, filter_as_json
from nncache.invalidation.filters.file_plan import FilePlan
from nncache.invalidation.filters.filter_file import BadFilterFileError
from nncache.invalidation.filters.hdfs_bulk import Done
from nncache.logs import one_line
from nncache.net.some_names import some_names

NONE = "-"
"""Stands where there are no subscribers."""

SHOWN = 8
"""Filters that one line names."""


def plan_lines(plan: FilePlan) -> Iterator[str]:
    """Yield a line for each filter to be touched: + is added, ~ is changed, - is removed."""
    for new in plan.added:
        yield one_line(
            f"+ {new.name}  {new.path_glob}  owner {new.owner}  subscribers {_users(new.allowed_subscribers)}"
        )
    for change in plan.changed:
        yield one_line(f"~ {change.before.name}  {'; '.join(differences(change.before, change.after))}")
    for name in plan.removed:
        yield one_line(f"- {name}")


def remarks(plan: FilePlan) -> Iterator[str]:
    """Yield what a reader should know beside the plan."""
    for name, reason in plan.broken.items():
        yield one_line(f"broken: {name}: {reason}: left alone; remove it and apply the file again")
    for name, reason in plan.refused.items():
        yield one_line(f"refused: {name}: {reason}")
    if plan.unlisted:
        names = some_names(plan.unlisted, shown=SHOWN)
        yield one_line(f"not in the file, and kept (--prune removes what is not): {names}")


def plan_as_json(plan: FilePlan, done: Done | None = None) -> dict[str, object]:
    """Return the plan and, if it was carried out, how many filters were touched."""
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
        "unchanged": plan.unchanged,
    }
    if done is not None:
        shown["done"] = {"added": done.added, "changed": done.changed, "removed": done.removed}
    return shown


def summary(done: Done, unchanged: int) -> str:
    """Return what was done, in one line."""
    return (
        f"filters: {done.added} added, {done.changed} changed, {done.removed} removed, {unchanged} unchanged"
    )


def fault_lines(file: str, error: BadFilterFileError) -> Iterator[str]:
    """Yield a line for each thing that is wrong with the file, as compilers write them."""
    for fault in error.faults:
        where = file if fault.line is None else f"{file}:{fault.line}"
        yield one_line(f"{where}: {fault.reason}")


def differences(before: Filter, after: Filter) -> Iterator[str]:
    """Yield what is other in a filter."""
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
