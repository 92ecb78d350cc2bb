"""What the admin port of a proxy shows of several namespaces."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

from nncache.admin.proxy_pages import NoNamespaceError, RefusedQueryError
from nncache.daemons.federated_status import (
    FederatedReadiness,
    federated_status,
    readiness_of,
    total_of,
    with_refused,
)
from nncache.daemons.history import History, Totals
from nncache.daemons.namespace_stack import NamespaceStack
from nncache.daemons.proxy_status import Json, StatusSnapshot
from nncache.daemons.purging import Purged
from nncache.hadoop.mounts import MountTable
from nncache.proxy.traffic import Traffic

T = TypeVar("T")


class FederatedPages:
    """Finds the namespace of a path, and combines their pages."""

    def __init__(
        self,
        stacks: Mapping[str, NamespaceStack],
        mounts: MountTable,
        traffic: Traffic,
        clock: Callable[[], float],
    ) -> None:
        """Begin; `traffic` counts the requests that are about no namespace."""
        self._stacks = stacks
        self._mounts = mounts
        self._traffic = traffic
        self._clock = clock
        self._history = History(clock(), Totals())

    def readiness(self, *, is_listening: bool, is_stopping: bool) -> FederatedReadiness:
        """Say whether each can serve, and whether from memory."""
        return readiness_of(
            {
                name: stack.readiness(is_listening=is_listening, is_stopping=is_stopping)
                for name, stack in self._stacks.items()
            }
        )

    def explain(self, path: str) -> Mapping[str, object]:
        """Say what is known of a canonical path, by the namespace that holds it.

        Raises:
            NoNamespaceError: none does.
        """
        name = self._mounts.find(path)
        if name is None:
            why = "lies above the mount points" if self._mounts.is_above(path) else "is mounted nowhere"
            raise NoNamespaceError(f"{path} {why}: requests for it are answered with an error")
        return {"namespace": name, **self._stacks[name].explain(path)}

    def status(self, seen: Mapping[str, StatusSnapshot]) -> Json:
        """Return the document of the status page."""
        return federated_status(seen, self._mounts.points, self._refused(), self._history)

    async def look_on(self, every_s: float) -> NoReturn:
        """Take note of the sums for the status page so often, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            self._look()

    def _look(self) -> None:
        totals = with_refused(total_of(stack.totals() for stack in self._stacks.values()), self._refused())
        now = self.readiness(is_listening=True, is_stopping=False)
        self._history.look(self._clock(), totals, is_well=now.is_gate_open, state=now.gate)

    def sample(self, limit: int, filter_: str | None) -> tuple[str, ...]:
        """Return paths that some cache holds, of each namespace as many as of the others.

        Raises:
            RefusedQueryError: no filter of this name or glob is in force in any.
        """
        return _by_turns(self._where_possible(lambda stack: stack.sample(limit, filter_)), limit)

    def path(self, path: str, *, is_subtree: bool, peer: str) -> tuple[Purged, ...]:
        """Forget a canonical path, or everything at and below it, in each namespace that has a part of it."""
        names = self._mounts.within(path) if is_subtree else (self._mounts.find(path),)
        purged = [
            self._stacks[name].purger.path(path, is_subtree=is_subtree, peer=peer)
            for name in names
            if name is not None
        ]
        if not purged:
            raise RefusedQueryError(f"{path}: no namespace is mounted there")
        return tuple(each for part in purged for each in part)

    def filter(self, name: str, *, peer: str) -> tuple[Purged, ...]:
        """Forget all that a filter may match, in each namespace that has one of this name or glob.

        Raises:
            RefusedQueryError: it is in force in none.
        """
        purged = self._where_possible(lambda stack: stack.purger.filter(name, peer=peer))
        return tuple(each for part in purged for each in part)

    def _where_possible(self, ask: Callable[[NamespaceStack], T]) -> list[T]:
        """Return the answers of the namespaces that have one; at least one has, or the first error is raised."""
        found, errors = list[T](), list[RefusedQueryError]()
        for stack in self._stacks.values():
            try:
                found.append(ask(stack))
            except RefusedQueryError as error:
                errors.append(error)
        if not found:
            raise errors[0]
        return found

    def _refused(self) -> int:
        return self._traffic.stats().total


def _by_turns(found: Sequence[Sequence[str]], limit: int) -> tuple[str, ...]:
    """Return so many at most, one of each in turn."""
    longest = max(map(len, found))
    return tuple([each[place] for place in range(longest) for each in found if place < len(each)])[:limit]
