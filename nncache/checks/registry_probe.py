"""Read the entries of a daemon and of others in the service registry."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from nncache.checks.contacts import contact, resolved
from nncache.checks.facts import Contact, RegistryFound
from nncache.checks.subject import CheckSubject
from nncache.checks.zookeeper_probe import CONNECT_S
from nncache.coordination.acl import Acl
from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session import KazooSession
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.endpoint import ListenAddress
from nncache.registry import paths
from nncache.registry.addresses import place_of
from nncache.registry.daemon_record import ADMIN_API, PLACE, WEBHDFS_API, RegisteredDaemon
from nncache.registry.errors import (
    InvalidRecordError,
    NoPathPermissionsError,
    NoRecordError,
    PathNotFoundError,
    RegistryError,
)
from nncache.registry.operations import Registry
from nncache.registry.record import RegistryEntry
from nncache.registry.settings import reached_at
from nncache.registry.tree_reading import read_tree

MAX_OTHERS: Final = 50
"""Maximum number of other daemons that are probed."""


async def ask_registry(
    subject: CheckSubject,
    servers: Sequence[str],
    clock: Callable[[], float],
    login: ZooKeeperLogin | None = None,
) -> RegistryFound:
    """Return the registry's entries, read from these servers of the ensemble."""
    settings = subject.settings
    async with KazooSession(
        replace(settings.zookeeper, zookeeper=tuple(servers)), clock, log_name="check", login=login
    ) as session:
        found = await _own(subject)
        try:
            await session.wait_connected(CONNECT_S)
        except CoordinationError as error:
            return replace(found, silence=str(error))
        registry = Registry(session, settings.registry.registry_root, settings.registry.access)
        return await look_at_registry(registry, found, subject.user)


async def look_at_registry(registry: Registry, found: RegistryFound, user: str) -> RegistryFound:
    """Return `found` with the registry's entries added, as far as they may be read."""
    try:
        found = replace(found, acls=await _acls(registry, found.path))
        found = await _own_record(registry, found)
        entries = (await read_tree(registry, PLACE)).entries
    except PathNotFoundError:
        return found
    except (CoordinationError, RegistryError) as error:
        return replace(found, silence=str(error))
    others = [each for each in entries if each.path != found.path][:MAX_OTHERS]
    answers = await asyncio.gather(*(_answer(each, user) for each in others))
    return replace(
        found, others={each.path: answer for each, answer in zip(others, answers, strict=True) if answer}
    )


async def _own(subject: CheckSubject) -> RegistryFound:
    """Return the path and the host under which a daemon registers."""
    at = subject.registers_at
    look = partial(reached_at, "", at.host)  # a name server may be asked
    host = await on_daemon_thread(look, "registry_host")
    try:
        hosts = await resolved(host, at.port)
    except (OSError, TimeoutError):
        hosts = ()
    daemon = RegisteredDaemon(kind=subject.command, host=host, port=at.port, admin="")
    path = daemon.path if at.port else ""
    return RegistryFound(host=host, hosts=hosts, path=path, at=str(ListenAddress(host, at.port)))


async def _acls(registry: Registry, path: str) -> dict[str, Acl]:
    """Return the ACLs of the existing entries from the root to an entry; an empty one where it may not be read."""
    elements = paths.elements_of(path or PLACE)
    found: dict[str, Acl] = {}
    for depth in range(len(elements) + 1):
        each = paths.path_of(*elements[:depth])
        try:
            found[each] = (await registry.zookeeper.acl(registry.znode(each))).acl
        except NoNodeError:
            break
        except NotAllowedError:
            found[each] = ()
    return found


async def _own_record(registry: Registry, found: RegistryFound) -> RegistryFound:
    if not found.path:
        return found
    try:
        return replace(found, record=await registry.resolve(found.path))
    except (PathNotFoundError, NoRecordError):
        return found
    except (InvalidRecordError, NoPathPermissionsError) as error:
        return replace(found, fault=error.what)


async def _answer(entry: RegistryEntry, user: str) -> Contact | None:
    """Return the server at a daemon's registered address; None if its record has no address."""
    endpoints = (
        entry.record.external_endpoint(WEBHDFS_API),
        entry.record.internal_endpoint(ADMIN_API),
    )
    for endpoint in endpoints:
        for address in endpoint.addresses if endpoint is not None else ():
            place = place_of(address)
            if place is not None:
                return await contact(place.authority, user)
    return None
