"""The result of a check."""

from dataclasses import dataclass
from enum import Enum


class CheckVerdict(Enum):
    """The verdict of a finding; its value is printed."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    Attributes:
        verdict: its meaning for the daemon.
        text: the fact, with address, key or value.
        remedy: the key and file, or the flag, to change, and the new value; "" if there is nothing to do.
    """

    verdict: CheckVerdict
    text: str
    remedy: str = ""


def ok(text: str) -> Finding:
    """Return a finding without a fault."""
    return Finding(CheckVerdict.OK, text)


def warning(text: str, remedy: str) -> Finding:
    """Return a finding with which a daemon can work."""
    return Finding(CheckVerdict.WARNING, text, remedy)


def failed(text: str, remedy: str) -> Finding:
    """Return a finding that prevents a daemon's work."""
    return Finding(CheckVerdict.FAILED, text, remedy)


def skipped(because: str) -> Finding:
    """Return a finding for a check that was not made."""
    return Finding(CheckVerdict.SKIPPED, f"because {because}")
