"""What a check has come to."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How a check ended; the value is what is printed."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen.

    Attributes:
        verdict: what it means.
        text: what is so, with address, key or value.
        remedy: which key of which file, or which flag, to change and to what; "" where nothing is to be done.
    """

    verdict: Verdict
    text: str
    remedy: str = ""


def ok(text: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(Verdict.OK, text)


def warning(text: str, remedy: str) -> Finding:
    """Return a finding that a daemon can live with."""
    return Finding(Verdict.WARNING, text, remedy)


def failed(text: str, remedy: str) -> Finding:
    """Return a finding that keeps a daemon from doing its work."""
    return Finding(Verdict.FAILED, text, remedy)


def skipped(because: str) -> Finding:
    """Return that nothing was looked at."""
    return Finding(Verdict.SKIPPED, f"because {because}")
