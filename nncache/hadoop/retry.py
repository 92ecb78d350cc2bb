"""Decide whether a call may be retried after a failure.

Pure. The rule: a read may be retried; any other call only if it was certainly not executed.
"""

from enum import Enum, auto
from typing import assert_never

MAX_TIMEOUTS_PER_READ = 1
"""The limit of retries of a read after a timeout: further calls do not help a slow NameNode."""


class FailureKind(Enum):
    """The kind of failure of a call to one NameNode."""

    NOT_SENT = auto()  # no connection: refused, unreachable, no such host
    STANDBY = auto()  # StandbyException: the call was not executed, another NameNode is the active one
    RETRIABLE = auto()  # RetriableException: the call was not executed; from a starting NameNode, for example
    CUT = auto()  # the connection was lost after data was sent: the call may have been executed
    TIMEOUT = auto()  # no answer in time: the call may have been executed, or be executed later


def may_retry(method_is_read: bool, failure_kind: FailureKind, timeouts: int = 0) -> bool:  # noqa: FBT001 - two facts and a count, read as one row
    """Whether the call may be sent again, to this or another NameNode.

    `timeouts` is the number of attempts of this call that timed out before this failure.
    """
    match failure_kind:
        case FailureKind.NOT_SENT | FailureKind.STANDBY | FailureKind.RETRIABLE:
            return True
        case FailureKind.CUT:
            return method_is_read
        case FailureKind.TIMEOUT:
            return method_is_read and timeouts < MAX_TIMEOUTS_PER_READ
    assert_never(failure_kind)
