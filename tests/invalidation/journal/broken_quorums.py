"""Broken variants of `JournalQuorum`: each breaks one rule, and the tests must find each."""

from collections.abc import Iterable, Mapping
from typing import Final

from nncache.invalidation.errors import Discontinued
from nncache.invalidation.journal.quorum import JournalQuorum, NewTransactions, ShownTransaction


class Counts(JournalQuorum):
    """Compares only transaction ids, as Hadoop's reader does, and not bytes."""

    def _durable(self) -> tuple[tuple[ShownTransaction, ...], int]:
        for node in self._nodes.values():
            for txid in node.shown or {}:
                first = next(
                    other.shown[txid]
                    for other in self._nodes.values()
                    if other.shown is not None and txid in other.shown
                )
                assert node.shown is not None
                node.shown[txid] = first
        return super()._durable()


class BelievesOne(JournalQuorum):
    """Trusts a single JournalNode."""

    def _durable(self) -> tuple[tuple[ShownTransaction, ...], int]:
        majority, self._majority = self._majority, 1
        taken = super()._durable()
        self._majority = majority
        return taken


class IgnoresEpochs(JournalQuorum):
    """Follows the journal whatever epochs are promised."""

    def promised(self, name: str, epoch: int, asked_at: float) -> Discontinued | None:
        """Treat any epoch as the first one."""
        return super().promised(name, 1, asked_at)


class OpensOnMinority(JournalQuorum):
    """Is fresh as of the latest answer of any JournalNode."""

    @property
    def fresh_as_of(self) -> float | None:
        """Return the time of the latest question that was answered."""
        return max((node.as_of for node in self._nodes.values() if self._counts(node)), default=None)


class IgnoresMisses(JournalQuorum):
    """Treats a CacheMissException as an empty answer."""

    def missed(self, name: str) -> Discontinued | None:
        """Assume that there are no more transactions."""
        node = self._nodes[name]
        node.shown, node.as_of = {}, node.epoch_as_of
        return None


class TakesParts(JournalQuorum):
    """Treats a partial answer as complete."""

    def answered(
        self, name: str, shown: Iterable[ShownTransaction], *, asked_at: float, now: float, is_whole: bool
    ) -> NewTransactions:
        """Assume that there are no more transactions."""
        del is_whole
        return super().answered(name, shown, asked_at=asked_at, now=now, is_whole=True)


class FreshByTheReply(JournalQuorum):
    """Treats an answer as covering up to its arrival."""

    def answered(
        self, name: str, shown: Iterable[ShownTransaction], *, asked_at: float, now: float, is_whole: bool
    ) -> NewTransactions:
        """Assume that the question was asked just now."""
        del asked_at
        return super().answered(name, shown, asked_at=now, now=now, is_whole=is_whole)


BROKEN: Final[Mapping[str, type[JournalQuorum]]] = {
    "count-instead-of-bytes": Counts,
    "one-node-believed": BelievesOne,
    "no-epoch-check": IgnoresEpochs,
    "open-on-a-minority": OpensOnMinority,
    "misses-ignored": IgnoresMisses,
    "parts-taken-for-all": TakesParts,
    "fresh-as-of-the-reply": FreshByTheReply,
}
