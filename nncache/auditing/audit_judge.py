"""Judge a difference between an answer from memory and the NameNode's answer.

Sans-I/O. `nncache.auditing.auditor` asks the NameNode inside a proxy, `nncache audit` from outside.
"""

import json
from enum import StrEnum
from typing import Final

COVERED_WITHIN_S: Final = 10.0
"""Seconds beyond the staleness bound to wait for the proof that all changes were applied."""

_UNANNOUNCED: Final = frozenset({"storagePolicy", "ecPolicy", "ecPolicyObj", "ecBit", "snapshotEnabled"})
"""Fields that change without an event; `max_entry_age_s` bounds their age."""

_FOUND: Final = frozenset({200, 404})


class AuditOutcome(StrEnum):
    """The outcome of the audit of one answer."""

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
"""The meaning of each outcome, for the documentation."""

COMPARED: Final = frozenset(
    {AuditOutcome.SAME, AuditOutcome.CHANGED, AuditOutcome.UNANNOUNCED, AuditOutcome.BEYOND}
)
"""Outcomes for which two answers were compared."""


def compared(kept: tuple[int, bytes], fresh: tuple[int, bytes], *, is_active: bool) -> AuditOutcome | None:
    """Compare an answer from memory with the NameNode's answer, each a status and a body; None: they differ.

    `is_active`: the NameNode was the active one.
    """
    if not is_active or fresh[0] not in _FOUND:
        return AuditOutcome.REFUSED
    if fresh == kept:
        return AuditOutcome.SAME
    if fresh[0] == kept[0] and _without_unannounced(fresh[1]) == _without_unannounced(kept[1]):
        return AuditOutcome.UNANNOUNCED
    return None


def why_different(*, is_held: bool, seen_as_of: float, read_at: float, left_s: float) -> AuditOutcome | None:
    """Return the meaning of a difference, from the current state of the cache; None: it is not decided yet.

    Args:
        is_held: whether the cache still holds the answer.
        seen_as_of: the gate's time (G2): every change that the NameNode showed before it is applied.
        read_at: the time of the NameNode's answer, by the same clock.
        left_s: the seconds left to wait for the proof.
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
