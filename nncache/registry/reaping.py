"""Deletes the records of YARN applications, attempts and containers that have ended.

Anything read or answered later is compared with the first reading; in doubt an entry is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from nncache.registry import paths
from nncache.registry.errors import (
    InvalidRecordError,
    NoPathPermissionsError,
    NoRecordError,
    PathIsNotEmptyDirectoryError,
    PathNotFoundError,
    RecordChangedError,
)
from nncache.registry.limits import PERMANENT
from nncache.registry.operations import Registry
from nncache.registry.pacing import at_once
from nncache.registry.purge_plan import KeptEntry, application_of, plan_reaping
from nncache.registry.record import YARN_ID, YARN_PERSISTENCE, EntryStatus, RegistryEntry, ServiceRecord
from nncache.registry.resource_manager import ActiveResourceManager, ResourceManagers
from nncache.registry.tree_reading import read_tree
from nncache.registry.yarn_states import HasEnded, PageNeeded, RmAnswer, Runs, UnknownIdTerms, Verdict, judge

AT_ONCE: Final = 4  # concurrent questions to the ResourceManager

Owner: TypeAlias = tuple[str, str]
"""A record's yarn:persistence, which is not permanent, and its yarn:id."""

_CHANGED: Final = "another client has changed it since it was read"


@dataclass(frozen=True, slots=True)
class Reaped:
    """A deleted entry, or one that would be deleted."""

    path: str
    why: str  # what has ended; empty for an entry without a record, below a deleted one


@dataclass(frozen=True, slots=True)
class Reaping:
    """The result of one pass over all records."""

    gone: tuple[Reaped, ...]  # the deleted entries, or those that would be deleted, from the bottom up
    kept: tuple[KeptEntry, ...]  # by path: records that are not permanent, and unreadable entries


async def reap(
    registry: Registry, managers: ResourceManagers, top: str, terms: UnknownIdTerms, *, delete: bool
) -> Reaping:
    """Delete the records at and below a path whose owner has ended; without `delete`, only determine them.

    Raises:
        PathNotFoundError: the entry does not exist.
        RegistryIOError: ZooKeeper does not answer; some records may be deleted.
        ResourceManagerError: no ResourceManager gives a reliable answer; nothing was deleted.
    """
    reading = await read_tree(registry, top)
    active = await managers.find()
    owners = {owner for entry in reading.entries if (owner := _owner_of(entry.record)) is not None}
    verdicts = await _verdicts(managers, active, owners, terms)
    await managers.check_unchanged(active)

    def why_of(record: ServiceRecord) -> Verdict | None:
        owner = _owner_of(record)
        return None if owner is None else verdicts[owner]

    unreadable = [broken.path for broken in reading.unreadable]
    plan = plan_reaping(reading.records, unreadable, lambda record: isinstance(why_of(record), HasEnded))
    stays = [KeptEntry(broken.path, f"it cannot be read: {broken.why}") for broken in reading.unreadable]
    stays += [
        KeptEntry(entry.path, verdict.why, isinstance(verdict, Runs))
        for entry in reading.entries
        if (verdict := why_of(entry.record)) is not None
    ]
    kept = {each.path: each for each in (*stays, *plan.kept)}
    was: dict[str, RegistryEntry | EntryStatus] = {status.path: status for status in reading.bare}
    was.update((entry.path, entry) for entry in reading.entries)
    gone: list[Reaped] = []
    for path in plan.delete:
        fault = await _delete(registry, was[path]) if delete else ""
        if fault:
            kept[path] = KeptEntry(path, fault)
        else:
            gone.append(Reaped(path, kept.pop(path).why if path in kept else ""))
    return Reaping(tuple(gone), tuple(kept[path] for path in sorted(kept, key=paths.elements_of)))


def _owner_of(record: ServiceRecord) -> Owner | None:
    """Return the owner whose end deletes a record; None if the record is permanent."""
    policy = record.attributes.get(YARN_PERSISTENCE, PERMANENT)
    return None if policy == PERMANENT else (policy, record.attributes.get(YARN_ID, ""))


async def _verdicts(
    managers: ResourceManagers, active: ActiveResourceManager, owners: set[Owner], terms: UnknownIdTerms
) -> Mapping[Owner, Verdict]:
    """Return a verdict on each owner; each page of the ResourceManager is read once."""
    of_one: dict[str, list[Owner]] = {}  # by application: its owners share the answers
    for owner in sorted(owners):
        of_one.setdefault(application_of(owner[1]) or "", []).append(owner)

    async def found(some: list[Owner]) -> dict[Owner, Verdict]:
        answers: dict[str, RmAnswer] = {}
        return {owner: await _verdict(managers, active, owner, answers, terms) for owner in some}

    verdicts: dict[Owner, Verdict] = {}
    for each in await at_once(found, list(of_one.values()), AT_ONCE):
        verdicts |= each
    return verdicts


async def _verdict(
    managers: ResourceManagers,
    active: ActiveResourceManager,
    owner: Owner,
    answers: dict[str, RmAnswer],
    terms: UnknownIdTerms,
) -> Verdict:
    policy, yarn_id = owner
    while isinstance(step := judge(policy, yarn_id, active.manager, answers, terms), PageNeeded):
        answers[step.page] = await managers.ask(active.url, step.page)
    return step


async def _delete(registry: Registry, was: RegistryEntry | EntryStatus) -> str:
    """Delete an entry if it is unchanged since it was read; return why it is kept, "" if it is gone.

    The version alone does not distinguish it from a new entry that another client created in its place. The second
    read reduces the time of this race to one call of ZooKeeper.
    """
    status = was.status if isinstance(was, RegistryEntry) else was
    try:
        now = await (registry.read if isinstance(was, RegistryEntry) else registry.stat)(status.path)
        if _alone(now) != _alone(was):
            return _CHANGED
        await registry.delete(status.path, version=status.version)
    except PathNotFoundError:
        return ""  # another client has deleted it
    except (RecordChangedError, NoRecordError, InvalidRecordError):
        return _CHANGED
    except PathIsNotEmptyDirectoryError:
        return "there are entries below it that stay"
    except NoPathPermissionsError as error:
        return error.what
    return ""


def _alone(entry: RegistryEntry | EntryStatus) -> RegistryEntry | EntryStatus:
    """Return an entry without its number of children, which are deleted first."""
    if isinstance(entry, RegistryEntry):
        return replace(entry, status=replace(entry.status, children=0))
    return replace(entry, children=0)
