"""Calls that must cost nobody anything: of somebody who may change nothing there."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.paths import ancestors
from tests.model import namespace as ns
from tests.model.cluster import Cluster
from tests.model.upstream import ModelQueries


@dataclass(frozen=True, slots=True)
class UnprivilegedCall:
    """A call of mallory's, on its way."""

    target: str  # path and query
    given_up: int  # questions of the proxy, before it

    def may_make(self, cluster: Cluster, queries: ModelQueries) -> bool:
        """Whether they could carry the second step of a write out, now or a moment ago.

        Also where a question about that was given up, since its answer did not come in time.
        """
        path, _, query = self.target.partition("?")
        if "CREATE" not in query:
            return False
        if queries.given_up > self.given_up:
            return True
        versions = [version.namespace for version in cluster.versions[-4:]]
        return any(
            ns.allows(inode, "mallory", 0o2)
            for each in (path, *ancestors(path))
            for namespace in versions
            if (inode := namespace.get(each)) is not None
        )


now: Final[ContextVar[UnprivilegedCall | None]] = ContextVar("now", default=None)
"""Whose call is on its way, in whatever task."""


def is_first_step(target: str) -> bool:
    """Whether the target, a path and a query, begins a write of two steps."""
    return "op=CREATE" in target and not target.startswith("/.reserved")
