"""Read the filters in force."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.invalidation.channel.published_filters import parse_published_filter
from nncache.invalidation.channel.untrusted_znodes import BadZnodes, UnreadableZnode, each_znode
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name, parse_txid
from nncache.invalidation.errors import CorruptZnodeError, MissingEventsError


@dataclass(frozen=True, slots=True)
class FilterSet:
    """The filters of a generation, or later ones if the set changed during the read.

    Later ones do no harm: a cache keeps replies for a filter only from the read on, and gets the filter's changes from
    then on. The next generation is read before any record that was matched with it.
    """

    generation: int
    globs: Mapping[str, str]  # by id
    names: Mapping[str, str] = field(default_factory=dict)  # by id; for people


class FilterSetReader:
    """Reads the set of filters. One user at a time.

    Every method may raise ConnectionLostError and NotAllowedError.
    """

    def __init__(self, zookeeper: ZooKeeper, znodes: ZnodePaths, bad_znodes: BadZnodes) -> None:
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._bad_znodes = bad_znodes
        self._watch = zookeeper.watch(znodes.filters)

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as the set may have changed, False after `timeout_s` seconds."""
        return await self._watch.changed(timeout_s)

    async def read(self, known: FilterSet | None = None, *, reread: bool = False) -> FilterSet:
        """Return the set; `known` itself if the generation is the same, unless `reread` is set.

        The generation is read before the definitions, so that a change in between has a later one. A definition that
        cannot be read, or that ZooKeeper's ACL hides from us, affects only its filter.

        Raises:
            MissingEventsError: there is no generation, or an earlier one than known: the set was restarted.
        """
        path = self._znodes.filters
        znode = await self._watch.read()
        if known is not None and (znode is None or (parse_txid(znode.data) or 0) < known.generation):
            await self._zookeeper.sync(path)  # a new server may be behind (localSessionsEnabled)
            znode = await self._watch.read()
        if znode is None:
            raise MissingEventsError(f"{path}: there is no such znode: no filters are published")
        generation = parse_txid(znode.data)
        if generation is None:
            exc = CorruptZnodeError(path, f"not a generation: {znode.data[:40]!r}")
            self._bad_znodes.corrupt(path, str(exc))
            raise MissingEventsError(str(exc)) from exc
        if known is not None and generation < known.generation:
            raise MissingEventsError(f"{path}: generation {generation} after {known.generation}")
        if known is not None and generation == known.generation and not reread:
            return known
        globs, named = await self._globs()
        return FilterSet(generation, globs, named)

    async def _globs(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the globs, and the names of their filters, each by id."""
        names: list[str] = []
        try:
            children = await self._zookeeper.children(self._znodes.filters)
        except NoNodeError as exc:
            raise MissingEventsError(f"{exc}: the filters are gone") from exc
        for child in sorted(children):
            if is_filter_name(child):
                names.append(child)
            else:
                self._bad_znodes.foreign(self._znodes.definition(child))
        globs: dict[str, str] = {}
        named: dict[str, str] = {}
        paths = [self._znodes.definition(name) for name in names]
        refused: UnreadableZnode | None = None
        is_any_shown = False
        async for path, znode in each_znode(self._zookeeper, paths):
            if znode is None:
                continue  # removed in between
            if isinstance(znode, UnreadableZnode):
                self._bad_znodes.corrupt(path, str(znode.error))
                refused = znode
                continue
            is_any_shown = True
            try:
                published = parse_published_filter(znode.path, znode.data)
            except CorruptZnodeError as exc:
                self._bad_znodes.corrupt(znode.path, str(exc))
            else:
                globs[published.id] = published.path_glob
                named[published.id] = published.name
        if refused is not None and not is_any_shown:
            raise refused.error  # an administrator has to help: it affects all filters
        return globs, named
