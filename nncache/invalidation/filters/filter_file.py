"""Filters as one readable file, to be kept in git.

Pure. The file is TOML, one table for each filter:

    [[filter]]
    name = "joe"
    glob = "/user/joe/*/_SUCCESS"
    owner = "joe"
    subscribers = ["alice", "bob"]

`owner` and `subscribers` are optional: the file does not change what it leaves out.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import (
    Filter,
    check_glob,
    check_name,
    check_owner,
    check_subscriber,
    check_subscribers,
)

TABLE: Final = "filter"
_NAME, _GLOB, _OWNER, _SUBSCRIBERS = "name", "glob", "owner", "subscribers"
_KEYS: Final = (_NAME, _GLOB, _OWNER, _SUBSCRIBERS)
_HEADER: Final = re.compile(r"\s*\[\[\s*" + TABLE + r"\s*\]\]\s*(#.*)?")
_KEY: Final = re.compile(r"\s*([A-Za-z]+)\s*=")
_NO_LINE: Final[Mapping[str, int]] = {}
_ValueT = TypeVar("_ValueT")
_NOTE: Final = (
    "# Filters of nncache, as `nncache filters export` writes and `nncache filters apply` reads them.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One filter of the file."""

    name: str
    path_glob: str
    owner: str | None = None  # None: left out
    allowed_subscribers: tuple[str, ...] | None = None  # None: left out; sorted, each once


@dataclass(frozen=True, slots=True)
class FilterFileFault:
    """One error in the file."""

    line: int | None  # counted from 1; None if unknown
    reason: str


class BadFilterFileError(FilterError):
    """The file does not define a valid set of filters."""

    def __init__(self, faults: Iterable[FilterFileFault]) -> None:
        self.faults = tuple(faults)  # in the order of the file
        super().__init__("; ".join(fault.reason for fault in self.faults))


def parse_filters(text: str) -> tuple[FileEntry, ...]:
    """Return the filters of the file, sorted by name. Raises BadFilterFileError: lists all errors in the file."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # the latter: nested a thousand deep
        raise BadFilterFileError([FilterFileFault(None, f"is not TOML: {error}")]) from error
    faults = [
        FilterFileFault(None, f"{key}: only [[{TABLE}]] tables may stand at the top")
        for key in document
        if key != TABLE
    ]
    tables = document.get(TABLE, [])
    if not isinstance(tables, list):
        tables, faults = (
            [],
            [*faults, FilterFileFault(None, f"{TABLE}: must be tables, each under [[{TABLE}]]")],
        )
    entries: dict[str, FileEntry] = {}
    for number, (table, lines) in enumerate(zip(tables, _lines(text, len(tables)), strict=True), start=1):
        if not isinstance(table, dict):
            faults.append(FilterFileFault(None, f"{TABLE} {number}: must be a table"))
            continue
        found = [*_faults(table, entries)]
        who = f"filter {table[_NAME]!r}" if isinstance(table.get(_NAME), str) else f"{TABLE} {number}"
        faults += (
            FilterFileFault(lines.get(key, lines.get("")), f"{who}: {reason}") for key, reason in found
        )
        if not found:
            entries[table[_NAME]] = _entry(table)
    if faults:
        raise BadFilterFileError(faults)
    return tuple(entries[name] for name in sorted(entries))


def encode_filters(filters: Iterable[Filter]) -> str:
    """Return the text of a file that defines all of these filters, sorted by name."""
    return _NOTE + "".join(map(_table, sorted(filters, key=lambda each: each.name)))


def _table(each: Filter) -> str:
    users = ", ".join(map(_text, each.allowed_subscribers))
    return (
        f"\n[[{TABLE}]]\n"
        f"{_NAME} = {_text(each.name)}\n"
        f"{_GLOB} = {_text(each.path_glob)}\n"
        f"{_OWNER} = {_text(each.owner)}\n"
        f"{_SUBSCRIBERS} = [{users}]\n"
    )


def _text(value: str) -> str:
    """Return a TOML basic string; unprintable characters, which may control a terminal, are escaped."""
    return '"' + "".join(map(_character, value)) + '"'


def _character(each: str) -> str:
    if each in '"\\':
        return "\\" + each
    return each if each.isprintable() else f"\\U{ord(each):08X}"


def _entry(table: Mapping[str, object]) -> FileEntry:
    owner, users = table.get(_OWNER), table.get(_SUBSCRIBERS)
    return FileEntry(
        name=str(table[_NAME]),
        path_glob=str(table[_GLOB]),
        owner=None if owner is None else str(owner),
        allowed_subscribers=tuple(sorted(set(map(str, users)))) if isinstance(users, list) else None,
    )


def _faults(table: Mapping[str, object], earlier: Mapping[str, FileEntry]) -> Iterator[tuple[str, str]]:
    """Yield each error in one table, with its key."""
    for key in table:
        if key not in _KEYS:
            nearest = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.0)[0]
            yield key, f"{key}: no such key; the nearest is {nearest}"
    for key, check in ((_NAME, check_name), (_GLOB, check_glob), (_OWNER, check_owner)):
        value = table.get(key)
        if isinstance(value, str):
            yield from _checked(key, check, value)
        elif value is not None:
            yield key, f"{key}: {value!r}: must be a text"
        elif key != _OWNER:
            yield key, f"{key}: is missing"
    if isinstance(table.get(_NAME), str) and table[_NAME] in earlier:
        yield _NAME, f"{_NAME}: stands for a filter above already"
    users = table.get(_SUBSCRIBERS, [])
    if not isinstance(users, list) or not all(isinstance(user, str) for user in users):
        yield _SUBSCRIBERS, f"{_SUBSCRIBERS}: {users!r}: must be a list of texts"
        return
    for user in users:
        yield from _checked(_SUBSCRIBERS, check_subscriber, user)
    yield from _checked(_SUBSCRIBERS, check_subscribers, set(users))


def _checked(key: str, check: Callable[[_ValueT], None], value: _ValueT) -> Iterator[tuple[str, str]]:
    try:
        check(value)
    except FilterError as error:
        yield key, str(error)


def _lines(text: str, tables: int) -> list[Mapping[str, int]]:
    """Return the lines of each table's keys, and under "" the line of its header.

    The parser does not report lines, so they are searched for in the text. If the number of headers found differs from
    the number of tables parsed, as with a header inside a multi-line string, no lines are known.
    """
    found: list[dict[str, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if _HEADER.fullmatch(line):
            found.append({"": number})
        elif found and (key := _KEY.match(line)):
            found[-1].setdefault(key[1], number)
    return [*found] if len(found) == tables else [_NO_LINE] * tables
