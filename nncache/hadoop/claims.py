"""Decide which of several NameNodes that say they are active became so last.

Pure. A NameNode that was stopped and goes on says that it is active until it is fenced, and with QuorumJournalManager
alone that is at its next write: reads of it would go back in time. Clocks of different hosts are compared only where
what was seen from here does not tell.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One life of a NameNode as the active one, and what is known of its beginning. Times are local."""

    life: tuple[int, int]  # (start of the process, last HA transition), in ms by the NameNode's own clock
    after: float  # when it was asked last before this life was seen: the life began later; minus infinity if never
    by: float  # the life had begun by then; infinite while that is not known

    def is_later_than(self, other: "Claim") -> bool:
        """Whether it is known, without any other clock, to have begun after the other."""
        return self.after > other.by


def claim_after(
    before: Claim | None, *, life: tuple[int, int], asked_before: float, asked_at: float, known_by: float
) -> Claim:
    """Return the claim of a NameNode that says it is active.

    `before` is its last claim, if it has said nothing else since. `asked_before` is when the question before this one
    was sent, `asked_at` when this one was, and `known_by` a moment after its answer, infinite if there is none.
    """
    if before is not None and before.life == life:
        return replace(before, by=min(before.by, asked_at))
    return Claim(life=life, after=asked_before, by=known_by)


def latest_of(claims: Mapping[_T, Claim]) -> _T | None:
    """Return who became active last; None if there are no claims.

    Where the order was not seen from here the time of the last transition decides, and then the order of the claims.
    """
    candidates = [
        name
        for name, claim in claims.items()
        if not any(other.is_later_than(claim) for other in claims.values())
    ]
    return max(candidates, key=lambda name: claims[name].life[1], default=None)
