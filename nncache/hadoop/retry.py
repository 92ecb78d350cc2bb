"""Decide what may be asked again after a failure.

Pure. The rule: a read may be repeated; anything else only if it is certain that nothing was done.
"""

from enum import Enum, auto
from typing import assert_never

MAX_TIMEOUTS_PER_READ = 1
"""A read that ran into its deadline is repeated so often: a slow NameNode is not helped by more questions."""


class FailureKind(Enum):
    """How a call to one NameNode ended without an answer that counts."""

    NOT_SENT = auto()  # no connection: refused, unreachable, no such host
    STANDBY = auto()  # StandbyException: the NameNode did nothing, another is the active one
    RETRIABLE = auto()  # RetriableException: it did nothing, and will later; a starting NameNode says so
    CUT = auto()  # the connection was lost after something was sent: it may have been carried out
    TIMEOUT = auto()  # no answer in time: it may have been carried out, or still be


def may_retry(method_is_read: bool, failure_kind: FailureKind, timeouts: int = 0) -> bool:  # noqa: FBT001 - two facts and a count, read as one row
    """Tell whether the call may be sent once more, to this or another NameNode.

    `timeouts` counts how many attempts of this call ran into their deadline before this failure.
    """
    match failure_kind:
        case FailureKind.NOT_SENT | FailureKind.STANDBY | FailureKind.RETRIABLE:
            return True
        case FailureKind.CUT:
            return method_is_read
        case FailureKind.TIMEOUT:
            return method_is_read and timeouts < MAX_TIMEOUTS_PER_READ
    assert_never(failure_kind)
