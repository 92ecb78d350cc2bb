"""Selects the entries to delete when an application, an attempt or a container has ended.

Source of the rule: `SelectByYarnPersistence` and `RegistryAdminService.purge` of Hadoop 3.5.0. This module is stricter:
an unreadable entry, and another owner's entry below one to be deleted, are kept and named.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import Final

from nncache.registry.limits import PERMANENT
from nncache.registry.paths import elements_of, is_below
from nncache.registry.record import YARN_ID, YARN_PERSISTENCE, ServiceRecord

_FOREIGN: Final = "does not belong to it"
_NOT_ENDED: Final = "is not known to have ended"

_APPLICATION: Final = re.compile(r"(?:application|appattempt|container)(?:_e\d+)?_(\d+_\d+)(?:_.*)?")


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """An entry that matches but is kept."""

    path: str
    why: str
    runs: bool = False  # its application, attempt or container is known to run; False: this is in doubt


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The entries to delete, from the bottom up, and the matching entries that are kept."""

    delete: tuple[str, ...]
    kept: tuple[KeptEntry, ...]


def application_of(yarn_id: str) -> str | None:
    """Return the part that the ids of an application, its attempts and its containers share; None for another id."""
    found = _APPLICATION.fullmatch(yarn_id)
    return found[1] if found else None


def selects(record: ServiceRecord, yarn_id: str, policy: str) -> bool:
    """Return whether a record belongs to this id with this persistence policy, so that its end deletes the record."""
    attributes = record.attributes
    return attributes.get(YARN_ID) == yarn_id and attributes.get(YARN_PERSISTENCE) == policy


def plan_purge(
    entries: Mapping[str, ServiceRecord | None], unreadable: Iterable[str], yarn_id: str, policy: str
) -> PurgePlan:
    """Plan the deletion of entries, by path, now that the application, attempt or container `yarn_id` has ended.

    None is an entry without a record. The record of an `unreadable` entry is broken or could not be read.
    """
    application = application_of(yarn_id)

    def goes_along(path: str, top: str) -> bool:
        record = entries[path]
        if path == top or record is None:
            return True
        owner = application_of(record.attributes.get(YARN_ID, ""))
        is_of_yarn = record.attributes.get(YARN_PERSISTENCE, PERMANENT) != PERMANENT
        return is_of_yarn and application is not None and owner == application

    return _plan(entries, unreadable, lambda record: selects(record, yarn_id, policy), goes_along, _FOREIGN)


def plan_reaping(
    entries: Mapping[str, ServiceRecord | None],
    unreadable: Iterable[str],
    has_ended: Callable[[ServiceRecord], bool],
) -> PurgePlan:
    """Plan the deletion of every record that has ended, each with its descendants.

    Stricter than `plan_purge`: a record is kept while any record below it has not ended, such as a container that the
    application's next attempt has taken over.
    """

    def goes_along(path: str, _: str) -> bool:
        record = entries[path]
        return record is None or has_ended(record)

    return _plan(entries, unreadable, has_ended, goes_along, _NOT_ENDED)


def _plan(
    entries: Mapping[str, ServiceRecord | None],
    unreadable: Iterable[str],
    goes: Callable[[ServiceRecord], bool],
    goes_along: Callable[[str, str], bool],
    otherwise: str,
) -> PurgePlan:
    """Plan from the top down: a record that `goes` is deleted with its descendants, if each of them `goes_along`."""
    broken = set(unreadable)
    ordered = sorted({*entries, *broken}, key=elements_of)  # an entry's descendants follow it
    doomed: set[str] = set()
    kept: list[KeptEntry] = []
    for place, path in enumerate(ordered):
        record = entries.get(path)
        if path in doomed or record is None or not goes(record):
            continue
        below = list(takewhile(partial(is_below, top=path), islice(ordered, place, None)))
        blocker = next((other for other in below if other in broken or not goes_along(other, path)), None)
        if blocker is None:
            doomed.update(below)
        else:
            why = "cannot be read" if blocker in broken else otherwise
            kept.append(KeptEntry(path, f"{blocker}, which is below it, {why}"))
    return PurgePlan(tuple(sorted(doomed, key=lambda path: (-path.count("/"), path))), tuple(kept))
