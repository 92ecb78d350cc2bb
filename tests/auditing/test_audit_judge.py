"""The verdict on an audited hit: it is wrong only if it outlives the proof that all changes were applied (Bounded)."""

import json
import math

import pytest

from nncache.auditing.audit_judge import AuditOutcome, compared, why_different

KEPT = b'{"FileStatus":{"length":1,"storagePolicy":0}}'


def status(**fields: object) -> bytes:
    """Return a status as the NameNode renders it."""
    return json.dumps({"FileStatus": {"length": 1, "storagePolicy": 0} | fields}).encode()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ((200, KEPT), AuditOutcome.SAME),
        ((200, status(storagePolicy=7, ecPolicy="RS-6-3")), AuditOutcome.UNANNOUNCED),
        ((200, status(length=2)), None),
        ((200, b"[]"), None),
        ((404, KEPT), None),
        ((403, KEPT), AuditOutcome.REFUSED),
        ((503, b""), AuditOutcome.REFUSED),
    ],
)
def test_an_answer_is_compared_as_a_whole(answer: tuple[int, bytes], outcome: AuditOutcome | None) -> None:
    """Fields that change without an event are ignored; a reply other than a 200 or a 404 is not compared."""
    assert compared((200, KEPT), answer, is_active=True) is outcome


def test_what_was_missing_and_is_there_differs() -> None:
    """The rule holds whatever the bodies are."""
    assert compared((404, KEPT), (200, KEPT), is_active=True) is None


def test_a_standby_proves_nothing() -> None:
    """A standby may lag behind."""
    assert compared((200, KEPT), (200, KEPT), is_active=False) is AuditOutcome.REFUSED


@pytest.mark.parametrize(
    ("is_held", "seen_as_of", "left_s", "outcome"),
    [
        (False, math.inf, 1.0, AuditOutcome.CHANGED),
        (False, -math.inf, -1.0, AuditOutcome.CHANGED),
        (True, 10.0, 1.0, AuditOutcome.BEYOND),
        (True, 10.1, -1.0, AuditOutcome.BEYOND),
        (True, 9.9, 1.0, None),
        (True, 9.9, 0.0, AuditOutcome.UNPROVEN),
        (True, -math.inf, -1.0, AuditOutcome.UNPROVEN),
    ],
)
def test_wrong_is_what_outlives_the_proof(
    *, is_held: bool, seen_as_of: float, left_s: float, outcome: AuditOutcome | None
) -> None:
    """The NameNode's different reply came at 10."""
    found = why_different(is_held=is_held, seen_as_of=seen_as_of, read_at=10.0, left_s=left_s)
    assert found is outcome
