"""Leave where they are the znodes that cannot be deleted.

Anybody whom ZooKeeper's ACLs let create a znode can put others below it and hide them: then no other client deletes it.
"""

import logging
from collections.abc import Collection
from typing import Final

from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import SetData, ZooKeeper
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.publisher.delete_tree import Commit
from nncache.invalidation.publisher.recovery import VOID
from nncache.net.some_names import some_names

MAX_LOGGED: Final = 10_000
"""Paths that are remembered as logged."""

_log = logging.getLogger(__name__)


class LeftZnodes:
    """The znodes that were to be deleted and can't be. It outlasts the publisher's runs."""

    def __init__(self, zookeeper: ZooKeeper, znodes: Znodes) -> None:
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._logged: set[str] = set()

    async def leave(self, paths: Collection[str], commit: Commit) -> None:
        """See that no reader takes a definition among these for one in force, and log each once.

        What is hidden from us is hidden from readers, who pass over it.

        Raises:
            CoordinationError: ZooKeeper can't be asked, or a definition that can be read may not be written.
        """
        for path in paths:
            if path.rpartition("/")[0] == self._znodes.filters:
                await self._empty(path, commit)
        news = sorted(set(paths) - self._logged)
        if news:
            self._logged.update(news)
            _log.warning(
                "ZooKeeper's ACLs do not let this publisher delete what is below %s: it stays, and a filter of that "
                "name is not published until a client with the right to delete it does so",
                some_names(news),
            )

    def leave_record(self, path: str) -> None:
        """Log once that an old record stays; no reader needs it any more."""
        if path in self._logged:
            return
        if len(self._logged) >= MAX_LOGGED:
            self._logged.clear()
        self._logged.add(path)
        _log.warning(
            "another client keeps znodes below the old record %s, and ZooKeeper's ACLs do not let this publisher "
            "delete them: the record stays until a client with the right to do so deletes it; publishing goes on",
            path,
        )

    async def _empty(self, path: str, commit: Commit) -> None:
        try:
            znode = await self._zookeeper.get(path)
        except NotAllowedError:
            return
        if znode.data != VOID:
            await commit([SetData(path, VOID, znode.version)])
