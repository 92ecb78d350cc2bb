"""Delete the records of what YARN says has ended.

Everything that is read, or answered, in between is held against what was read first: nothing goes on doubt.
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
from nncache.registry.yarn_states import HasEnded, PageNeeded, RmAnswer, Runs, Terms, Verdict, judge

AT_ONCE: Final = 4  # questions to the ResourceManager that are under way

Owner: TypeAlias = tuple[str, str]
"""A yarn:persistence that is not permanent, and the yarn:id."""

_CHANGED: Final = "another client has changed it since it was read"


@dataclass(frozen=True, slots=True)
class Reaped:
    """An entry that goes."""

    path: str
    why: str  # what has ended; empty for an entry without a record, below one that goes


@dataclass(frozen=True, slots=True)
class Reaping:
    """What came of one look at all records."""

    gone: tuple[Reaped, ...]  # what was deleted, or would be, from the bottom up
    kept: tuple[KeptEntry, ...]  # by path: records that are not permanent, and entries that cannot be read


async def reap(
    registry: Registry, managers: ResourceManagers, top: str, terms: Terms, *, delete: bool
) -> Reaping:
    """Delete the records at and below a path of what has ended; without `delete` only find out which those are.

    Raises:
        PathNotFoundError: there is no such entry.
        RegistryIOError: ZooKeeper does not answer; some may be deleted.
        ResourceManagerError: no ResourceManager can be believed; nothing was deleted.
    """
    reading = await read_tree(registry, top)
    active = await managers.find()
    owners = {owner for entry in reading.entries if (owner := _owner_of(entry.record)) is not None}
    verdicts = await _verdicts(managers, active, owners, terms)
    await managers.see_unchanged(active)

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
    """Return with what a record goes; None: it is permanent."""
    policy = record.attributes.get(YARN_PERSISTENCE, PERMANENT)
    return None if policy == PERMANENT else (policy, record.attributes.get(YARN_ID, ""))


async def _verdicts(
    managers: ResourceManagers, active: ActiveResourceManager, owners: set[Owner], terms: Terms
) -> Mapping[Owner, Verdict]:
    """Ask about all of them; each page is asked for once."""
    of_one: dict[str, list[Owner]] = {}  # by application: what is asked about one serves the next
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
    terms: Terms,
) -> Verdict:
    policy, yarn_id = owner
    while isinstance(step := judge(policy, yarn_id, active.manager, answers, terms), PageNeeded):
        answers[step.page] = await managers.ask(active.url, step.page)
    return step


async def _delete(registry: Registry, was: RegistryEntry | EntryStatus) -> str:
    """Delete an entry if it still is what was read; return why it stays, empty if it is gone.

    Its version alone does not tell it from one that another client has made in its place since it was read. Looking
    again leaves of that time the moment of one call of ZooKeeper.
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
    """Return an entry without the number of entries below it, which are deleted first."""
    if isinstance(entry, RegistryEntry):
        return replace(entry, status=replace(entry.status, children=0))
    return replace(entry, children=0)
