"""Give znodes the ACLs that they must have.

ZooKeeper sets ACLs one by one, in no transaction: each setting names the version of the ACL that was read, so that one
that arrives late changes nothing.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final

from nncache.coordination.acl import Acl, is_same, shown
from nncache.coordination.errors import BadVersionError, NoNodeError, NotAllowedError
from nncache.coordination.task_group import run_all
from nncache.coordination.zookeeper import ZooKeeper
from nncache.invalidation.publisher.stats import OutputStats
from nncache.net.some_names import some_names

AT_ONCE: Final = 32
"""Znodes looked at together."""

MAX_LOGGED: Final = 10_000
"""Paths that are remembered as logged."""

MAX_SHOWN: Final = 200
"""Characters of an ACL in the log."""

_log = logging.getLogger(__name__)


class AclRepair:
    """Compares and repairs. It outlasts the publisher's runs."""

    def __init__(self, zookeeper: ZooKeeper, acl_of: Callable[[str], Acl], counts: OutputStats) -> None:
        self._zookeeper = zookeeper
        self._acl_of = acl_of
        self._counts = counts
        self._logged: set[str] = set()  # paths whose ACLs we may not set

    async def repair(self, paths: Iterable[str]) -> None:
        """Set the ACL of each of these that has another one, and log which; what is not there is passed over.

        Raises:
            CoordinationError: ZooKeeper can't be asked, or knows no identities of such a scheme.
        """
        repaired, kept = await self._settle(paths)
        self._counts.acls_repaired += len(repaired)
        if repaired:
            _log.warning(
                "%d znodes had other ACLs than they must have, which this publisher has set again: %s",
                len(repaired),
                some_names(
                    [f"{path} (had {before[:MAX_SHOWN]})" for path, before in sorted(repaired.items())]
                ),
            )
        news = sorted(kept - self._logged)
        if news:
            if len(self._logged) + len(news) > MAX_LOGGED:
                self._logged.clear()
            self._logged.update(news)
            _log.error(
                "%d znodes have ACLs that this publisher may not look at or set, so that others may be able to write "
                "there: %s. Delete them as an administrator of ZooKeeper, or give this publisher's identity all rights "
                "to them",
                len(news),
                some_names(news),
            )

    async def apply(self, paths: Iterable[str]) -> None:
        """Set the ACLs of znodes that must have others from now on, without a word; errors are those of `repair`."""
        await self._settle(paths)

    async def _settle(self, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """Return what was repaired, with the ACL that it had, and what we are not allowed to repair."""
        repaired: dict[str, str] = {}
        kept: set[str] = set()
        waiting = iter(paths)

        async def work() -> None:
            for path in waiting:
                try:
                    found = await self._zookeeper.acl(path)
                    wanted = self._acl_of(path)
                    if not is_same(found.acl, wanted):
                        await self._zookeeper.set_acl(path, wanted, found.version)
                        repaired[path] = shown(found.acl)
                except (NoNodeError, BadVersionError):
                    continue  # gone meanwhile, or set by who was quicker and knows more
                except NotAllowedError:
                    kept.add(path)

        await run_all(*[work] * AT_ONCE)
        return repaired, kept
