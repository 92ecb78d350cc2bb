"""What a reply tells about the effect of its call.

Source: `NamenodeWebHdfsMethods`, `ExceptionHandler`, `FSDirMkdirOp`; replies and namespace compared on Hadoop 3.5.0.
"""

from enum import Enum, auto
from http import HTTPStatus
from typing import Final

from nncache.hadoop.calls import Call
from nncache.hadoop.operations import Effect, operation
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception

_METHODS: Final = frozenset({"GET", "HEAD", "PUT", "POST", "DELETE"})
"""Those that reach the namespace. The servlet refuses others with a 500, or describes itself (OPTIONS)."""

_FALSE: Final = b'{"boolean":false}'

_NOTHING_WAS_MADE: Final = frozenset({"ParentNotDirectoryException", "FileAlreadyExistsException"})
"""Refusals that come before the first missing ancestor is made; a quota, a limit or a reserved name may come after."""


class CallOutcome(Enum):
    """What is known of a forwarded call once its reply is known, or is known not to come."""

    DONE = auto()  # the NameNode has carried it out
    UNDONE = auto()  # it has changed nothing
    HALFWAY = auto()  # it was refused, perhaps after missing ancestors had been made
    UNKNOWN = auto()  # no reply, a 5xx, or cut off


def outcome_of(call: Call, status: int | None, body: bytes | None) -> CallOutcome:
    """Say what came of a call that got this reply; a status of None means that there is no reply.

    A redirect is a success: of the first step. A 4xx comes from the NameNode, which has refused, or from its servlet
    container before it looked at the call; only a 408 may have been cut in the middle.
    """
    if call.method not in _METHODS:
        return CallOutcome.UNDONE
    if status is None or status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return CallOutcome.UNKNOWN
    named = [operation(call.method, value) for value in call.arguments.get("op", ())]
    if status < HTTPStatus.BAD_REQUEST:
        # SETREPLICATION answers false where there is no file, and has changed nothing (FSDirAttrOp.setReplication).
        may_be_false = call.op is not None and (
            call.op.effect in {Effect.MOVES, Effect.VANISHES} or call.op.name == "SETREPLICATION"
        )
        return CallOutcome.UNDONE if may_be_false and body == _FALSE else CallOutcome.DONE
    if not any(op is not None and op.makes_ancestors for op in named):
        return CallOutcome.UNDONE
    remote = None if body is None else parse_remote_exception(body)
    if remote is None:
        return CallOutcome.HALFWAY
    is_early = remote.verdict is not Verdict.OTHER or remote.exception in _NOTHING_WAS_MADE
    return CallOutcome.UNDONE if is_early else CallOutcome.HALFWAY
