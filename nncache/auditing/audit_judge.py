"""Say what another answer of the NameNode means for one that was given from memory.

Sans-I/O. `nncache.auditing.auditor` asks inside a proxy, `nncache audit` from outside.
"""

import json
from enum import StrEnum
from typing import Final

COVERED_WITHIN_S: Final = 10.0
"""How long the proof that all changes were applied is waited for, beyond the bound."""

_UNANNOUNCED: Final = frozenset({"storagePolicy", "ecPolicy", "ecPolicyObj", "ecBit", "snapshotEnabled"})
"""Fields that change without an event; `max_entry_age_s` bounds how old they are."""

_FOUND: Final = frozenset({200, 404})


class AuditOutcome(StrEnum):
    """What came of a question."""

    SAME = "same"
    CHANGED = "changed"
    UNANNOUNCED = "unannounced"
    BEYOND = "beyond"
    REFUSED = "refused"
    UNPROVEN = "unproven"
    UNANSWERED = "unanswered"


AUDIT_OUTCOMES: Final[dict[str, str]] = {
    AuditOutcome.SAME: "the NameNode gave the same answer",
    AuditOutcome.CHANGED: "the path changed after it was answered from memory, and the cache has forgotten it in time",
    AuditOutcome.UNANNOUNCED: "only fields differ that change without an event (bounded by max_entry_age_s)",
    AuditOutcome.BEYOND: "the answer was wrong: the cache still held it after all changes were said to be applied",
    AuditOutcome.REFUSED: "no status and no 404, or not from the active NameNode: nothing to compare",
    AuditOutcome.UNPROVEN: "another answer, and no proof in time that all changes were applied (the gate closes)",
    AuditOutcome.UNANSWERED: "no NameNode answered",
}
"""What each outcome means, for the documentation."""

COMPARED: Final = frozenset(
    {AuditOutcome.SAME, AuditOutcome.CHANGED, AuditOutcome.UNANNOUNCED, AuditOutcome.BEYOND}
)
"""Outcomes that say something of the cache."""


def compared(kept: tuple[int, bytes], fresh: tuple[int, bytes], *, is_active: bool) -> AuditOutcome | None:
    """Compare an answer from memory with what the NameNode says now, each a status and a body; None: they differ.

    `is_active` says that it was the active NameNode's.
    """
    if not is_active or fresh[0] not in _FOUND:
        return AuditOutcome.REFUSED
    if fresh == kept:
        return AuditOutcome.SAME
    if fresh[0] == kept[0] and _without_unannounced(fresh[1]) == _without_unannounced(kept[1]):
        return AuditOutcome.UNANNOUNCED
    return None


def why_different(*, is_held: bool, seen_as_of: float, read_at: float, left_s: float) -> AuditOutcome | None:
    """Say what a difference means, from what the cache holds by now; None: that is not decided yet.

    Args:
        is_held: whether the cache still holds the answer.
        seen_as_of: as of the gate (G2): what the NameNode showed before that is applied.
        read_at: when the NameNode's other answer was there; the same clock.
        left_s: for which the proof may still be waited for.
    """
    if not is_held:
        return AuditOutcome.CHANGED
    if seen_as_of >= read_at:
        return AuditOutcome.BEYOND
    return AuditOutcome.UNPROVEN if left_s <= 0 else None


def _without_unannounced(body: bytes) -> object:
    """Return a status without the fields that change without an event."""
    try:
        status = json.loads(body)["FileStatus"]
        return {key: value for key, value in status.items() if key not in _UNANNOUNCED}
    except (ValueError, LookupError, TypeError, AttributeError):
        return body
