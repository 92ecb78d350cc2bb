"""The named exceptions of OwnWrites: writes that later reads may not see immediately.

docs/guarantees.md and docs/decisions/0013 name them.
"""

from math import inf

from tests.model.cluster import Cluster, Version
from tests.model.namespace import RefusedError
from tests.model.operations import Operation
from tests.model.upstream import ModelQueries
from tests.model.watched_cache import WatchedCache


class Exceptions:
    """Reports whether an exception applies to a write."""

    def __init__(
        self,
        cluster: Cluster,
        cache: WatchedCache,
        queries: ModelQueries,
        query_timeout_s: float,
        max_two_step_windows: int,
    ) -> None:
        self.begun = 0  # first steps of two-step writes so far, all from one address
        self.answered = 0  # the number of those whose reply arrived; a redirect may be held back by the proxy
        self._remembered = max(1, max_two_step_windows // 16)  # writes per address without a right
        self._cluster = cluster
        self._cache = cache
        self._queries = queries
        self._query_timeout_s = query_timeout_s  # the proxy's namenode_query_timeout_s

    def is_disturbed(self, path: str, began: Version, made: tuple[Version, ...]) -> bool:
        """Whether another client removed an ancestor since (a named exception of OwnWrites)."""
        return any(
            removed in self._above(path)
            for version in self._since(began)
            if version not in made
            for removed in version.removed
        )

    def is_written_by_others(self, path: str, began: Version, made: tuple[Version, ...]) -> bool:
        """Whether another client changed the path or an ancestor since (a named exception of OwnWrites)."""
        before = began
        for version in self._since(began):
            if version not in made:
                for each in (path, *self._above(path)):
                    one, other = before.namespace.get(each), version.namespace.get(each)
                    if (one is None) != (other is None) or (
                        one is not None
                        and other is not None
                        and (one.number != other.number or (each == path and one != other))
                    ):
                        return True
            before = version
        return False

    def has_a_late_right(
        self,
        opens: Operation,
        began: Version,
        redirected: Version,
        opened: Version,
        *,
        answered: int,
        given_up: int,
    ) -> bool:
        """Whether the writer got its right after the redirect, in a way that the proxy cannot know yet.

        A named exception of OwnWrites. The right's event is in flight, or a NameNode is still being asked after it; or
        a call through the proxy gave it, and waited `namenode_query_timeout_s`; or an address has more writes without
        a right than are remembered.

        Args:
            opens: the second step.
            began: the version before the first step.
            redirected: the version after it.
            opened: the version after the second step.
            answered: number of answered first steps, this one included.
            given_up: number of queries without an answer before the first step.
        """
        was_refused, giver = False, None  # the last version that gave the right
        before = began
        for version in (began, *self._since(began)):
            if version is opened:
                break
            is_refused = _refuses(opens, version)
            was_refused |= is_refused and version.txid <= redirected.txid
            if not is_refused and _refuses(opens, before):
                giver = version
            before = version
        if not was_refused or giver is None:
            return False
        if self.begun - answered >= self._remembered:
            return True
        if giver.acknowledged_at < inf:
            return giver.took_s >= self._query_timeout_s
        is_asking = self._queries.under_way > 0 or self._queries.given_up > given_up
        return giver.txid > self._cache.position or is_asking

    def last_known(self) -> Version:
        """Return the last version that the cache knows; later ones may have removed what it assumes."""
        position = self._cache.position
        known = [version for version in self._cluster.versions if version.txid <= position]
        return known[-1] if known else self._cluster.versions[0]

    def _since(self, began: Version) -> list[Version]:
        versions = self._cluster.versions
        return versions[versions.index(began) + 1 :]

    def _above(self, path: str) -> tuple[str, ...]:
        parts = path.split("/")
        return tuple("/".join(parts[:end]) for end in range(2, len(parts)))


def _refuses(operation: Operation, version: Version) -> bool:
    """Whether a NameNode would refuse the operation on this version."""
    try:
        operation(version.namespace, 0)
    except RefusedError:
        return True
    return False
