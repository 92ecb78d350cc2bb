"""Finds the faults of a registry: in records, names and ACLs."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.registry import paths
from nncache.registry.errors import InvalidPathnameError, InvalidRecordError, RegistryIOError
from nncache.registry.limits import check_record
from nncache.registry.operations import REFUSED, Registry
from nncache.registry.pacing import at_once
from nncache.registry.tree_reading import read_tree


async def audit_tree(registry: Registry, path: str) -> Mapping[str, tuple[str, ...]]:
    """Return the faults at and below a path, by path; empty if there are none.

    Raises:
        PathNotFoundError: the entry does not exist.
        RegistryIOError: ZooKeeper does not answer.
    """
    reading = await read_tree(registry, path)
    faults = defaultdict[str, list[str]](list, {broken.path: [broken.why] for broken in reading.unreadable})
    for entry in reading.entries:
        try:
            check_record(entry.path, entry.record, entry.status.size_bytes)
        except InvalidRecordError as error:
            faults[entry.path].append(error.what)
    everything = sorted({*reading.records, *faults}, key=paths.elements_of)
    for each in everything:
        try:
            paths.writable(each)
        except InvalidPathnameError as error:
            faults[each].append(error.what)
    if registry.access.is_secure:
        wrong = await at_once(partial(_wrong_acl, registry), everything)
        for each, found in zip(everything, wrong, strict=True):
            faults[each] += (fault for fault in found if fault not in faults[each])
    return {each: tuple(faults[each]) for each in everything if faults.get(each)}


async def _wrong_acl(registry: Registry, path: str) -> list[str]:
    try:
        acl = (await registry.zookeeper.acl(registry.znode(path))).acl
    except NoNodeError:
        return []  # deleted in between
    except NotAllowedError:
        return [REFUSED]
    except CoordinationError as error:
        raise RegistryIOError(path, f"its ACL could not be read: {error}") from error
    return list(registry.access.faults(path, acl))
