"""Read the znodes of a nameservice from ZooKeeper."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from nncache.checks.facts import MOVES_S, ZooKeeperFound
from nncache.coordination.acl import Acl
from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import Znode, ZooKeeper
from nncache.invalidation.channel.published_filters import PublishedFilter, parse_published_filter
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name, nameservices, parse_txid
from nncache.invalidation.errors import CorruptZnodeError
from nncache.invalidation.publisher.identity import parse_identity

CONNECT_S: Final = 2.0

TOP: Final = "/"
MAX_LOOKED_AT: Final = 30
"""Maximum number of children of a znode that are read to find nameservices below other roots."""

MAX_FILTERS: Final = 20
"""Maximum number of filters whose ACLs are read."""


async def ask_zookeeper(
    settings: ZooKeeperSettings,
    servers: Sequence[str],
    nameservice: str,
    clock: Callable[[], float],
    login: ZooKeeperLogin | None = None,
) -> ZooKeeperFound:
    """Return the contents of ZooKeeper, read from these servers of the ensemble."""
    reached = replace(settings, zookeeper=tuple(servers))
    async with KazooSession(reached, clock, log_name="check", login=login) as zookeeper:
        try:
            await zookeeper.wait_connected(CONNECT_S)
        except CoordinationError as error:
            return ZooKeeperFound(silence=str(error))
        return await read_tree(zookeeper, settings.zookeeper_root, nameservice)


async def read_tree(zookeeper: ZooKeeper, root: str, nameservice: str) -> ZooKeeperFound:
    """Return the contents below the root, as far as they may be read."""
    znodes = ZnodePaths(root, nameservice)
    found = ZooKeeperFound()
    try:
        if (await _got(zookeeper, root)) is None:
            return replace(found, elsewhere=await _elsewhere(zookeeper, root))
        found = replace(found, nameservices=nameservices(await zookeeper.children(root)), has_root=True)
        if not found.nameservices:
            return replace(found, elsewhere=await _elsewhere(zookeeper, root))
        namespace = await _got(zookeeper, znodes.namespace)
        if namespace is None:
            return found
        found = replace(found, block_pool=namespace.data.decode("utf-8", "replace"))
        publisher = await _got(zookeeper, znodes.publisher)
        if publisher is not None and publisher.owner_session != 0:
            found = replace(found, publisher=parse_identity(publisher.data), has_publisher=True)
        filters, bad = await _filters(zookeeper, znodes)
        found = replace(found, filters=filters, bad_filters=bad, acls=await _acls(zookeeper, znodes, filters))
        cache = await _got(zookeeper, znodes.cache)
        if cache is None:
            return found
        found = replace(found, has_moved=await _moves(zookeeper, znodes.cache))
        cache = await _got(zookeeper, znodes.cache) or cache
        return replace(found, txid=parse_txid(cache.data))
    except NoNodeError:
        return found
    except CoordinationError as error:
        return replace(found, silence=str(error))


async def _elsewhere(zookeeper: ZooKeeper, root: str) -> tuple[str, ...]:
    """Return the paths of nameservices published below other roots, as far as they may be read."""
    found = []
    for top in sorted(await zookeeper.children(TOP))[:MAX_LOOKED_AT]:
        other = f"{TOP}{top}"
        if other == root:
            continue
        with suppress(NoNodeError, NotAllowedError):
            names = nameservices(await zookeeper.children(other))[:MAX_LOOKED_AT]
            read = await zookeeper.get_many([ZnodePaths(other, name).cache for name in names])
            found += [f"{other}/{name}" for name, znode in zip(names, read, strict=True) if znode is not None]
    return tuple(found)


async def _got(zookeeper: ZooKeeper, path: str) -> Znode | None:
    try:
        return await zookeeper.get(path)
    except NoNodeError:
        return None


async def _acls(
    zookeeper: ZooKeeper, znodes: ZnodePaths, filters: Sequence[PublishedFilter]
) -> dict[str, Acl]:
    """Return the readable ACLs of the znodes that all filters share, and of the first filters."""
    names = [each.name for each in filters[:MAX_FILTERS]]
    shared = (znodes.root, znodes.namespace, znodes.publisher, znodes.filters, znodes.cache)
    found: dict[str, Acl] = {}
    for path in (*shared, *map(znodes.definition, names), *map(znodes.stream, names)):
        try:
            found[path] = (await zookeeper.acl(path)).acl
        except (NoNodeError, NotAllowedError):
            continue
    return found


async def _moves(zookeeper: ZooKeeper, path: str) -> bool:
    """Tell whether the znode is written within MOVES_S."""
    watch = zookeeper.watch(path)
    before = await watch.read()
    try:
        async with asyncio.timeout(MOVES_S):
            while True:
                await watch.changed(MOVES_S)
                now = await watch.read()
                if now is None or before is None or now.version != before.version:
                    return now is not None
    except TimeoutError:
        return False


async def _filters(
    zookeeper: ZooKeeper, znodes: ZnodePaths
) -> tuple[tuple[PublishedFilter, ...], dict[str, str]]:
    names = sorted(name for name in await zookeeper.children(znodes.filters) if is_filter_name(name))
    filters, bad = [], {}
    for name, znode in zip(names, await zookeeper.get_many([*map(znodes.definition, names)]), strict=True):
        if znode is None:  # removed concurrently
            continue
        try:
            filters.append(parse_published_filter(znode.path, znode.data))
        except CorruptZnodeError as error:
            bad[name] = str(error)
    return tuple(filters), bad
