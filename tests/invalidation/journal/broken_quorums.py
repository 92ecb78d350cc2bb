"""Deciders that break a rule of `JournalQuorum` each: every one must be found out."""

from collections.abc import Iterable, Mapping
from typing import Final

from nncache.invalidation.errors import Discontinued
from nncache.invalidation.journal.quorum import Found, JournalQuorum, Shown


class Counts(JournalQuorum):
    """Compares transaction ids, as Hadoop's reader does, and not bytes."""

    def _durable(self) -> tuple[tuple[Shown, ...], int]:
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
    """Takes what one JournalNode shows."""

    def _durable(self) -> tuple[tuple[Shown, ...], int]:
        majority, self._majority = self._majority, 1
        taken = super()._durable()
        self._majority = majority
        return taken


class IgnoresEpochs(JournalQuorum):
    """Follows the journal whatever epochs are promised."""

    def promised(self, name: str, epoch: int, asked_at: float) -> Discontinued | None:
        """Take any epoch for the first one."""
        return super().promised(name, 1, asked_at)


class OpensOnMinority(JournalQuorum):
    """Is fresh as of the latest answer."""

    @property
    def fresh_as_of(self) -> float | None:
        """Return when the latest answer was asked for."""
        return max((node.as_of for node in self._nodes.values() if self._counts(node)), default=None)


class IgnoresMisses(JournalQuorum):
    """Takes a CacheMissException for an empty answer."""

    def missed(self, name: str) -> Discontinued | None:
        """Take it that there is nothing more."""
        node = self._nodes[name]
        node.shown, node.as_of = {}, node.epoch_as_of
        return None


class TakesParts(JournalQuorum):
    """Takes an answer that is not whole for all that there is."""

    def answered(
        self, name: str, shown: Iterable[Shown], *, asked_at: float, now: float, is_whole: bool
    ) -> Found:
        """Take it that there is nothing more."""
        del is_whole
        return super().answered(name, shown, asked_at=asked_at, now=now, is_whole=True)


class FreshByTheReply(JournalQuorum):
    """Takes an answer to cover the time at which it came."""

    def answered(
        self, name: str, shown: Iterable[Shown], *, asked_at: float, now: float, is_whole: bool
    ) -> Found:
        """Take it that it was asked for just now."""
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
