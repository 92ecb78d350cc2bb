"""Calls of a user who may change nothing there: they must cost no one else a hit."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.paths import ancestors
from tests.model import namespace as ns
from tests.model.cluster import Cluster
from tests.model.upstream import ModelQueries


@dataclass(frozen=True, slots=True)
class UnprivilegedCall:
    """A call of mallory's in flight."""

    target: str  # path and query
    given_up: int  # the proxy's queries without an answer, before the call

    def may_make(self, cluster: Cluster, queries: ModelQueries) -> bool:
        """Whether mallory could carry out the second step of a write, now or a moment ago.

        Also if a query about that right got no answer in time.
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
"""The unprivileged call that the current task serves."""


def is_first_step(target: str) -> bool:
    """Whether the target, a path and a query, starts a two-step write."""
    return "op=CREATE" in target and not target.startswith("/.reserved")
