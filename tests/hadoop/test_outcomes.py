"""What a reply tells about its call, against replies of a real NameNode 3.5.0."""

import pytest

from nncache.hadoop.calls import PREFIX, parse_call
from nncache.hadoop.effects import CallOutcome, outcome_of

TRUE, FALSE = b'{"boolean":true}', b'{"boolean":false}'


def refusal(name: str, package: str = "org.apache.hadoop.security") -> bytes:
    """A RemoteException as a NameNode sends it."""
    return (
        f'{{"RemoteException":{{"exception":"{name}","javaClassName":"{package}.{name}","message":""}}}}'
    ).encode()


DENIED = refusal("AccessControlException")
QUOTA = refusal("NSQuotaExceededException", "org.apache.hadoop.hdfs.protocol")
LIMIT = refusal("PathComponentTooLongException", "org.apache.hadoop.hdfs.protocol.FSLimitException$")
NO_DIRECTORY = refusal("ParentNotDirectoryException", "org.apache.hadoop.fs")
EXISTS = refusal("FileAlreadyExistsException", "org.apache.hadoop.fs")
SAFE_MODE = refusal("SafeModeException", "org.apache.hadoop.hdfs.server.namenode")
RESERVED = refusal("HadoopIllegalArgumentException", "org.apache.hadoop")
NOT_ALLOWED = refusal("NotAllowedException", "org.apache.hadoop.shaded.javax.ws.rs")

REPLIES = [
    ("PUT /p?op=MKDIRS", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=MKDIRS", 200, FALSE, CallOutcome.DONE),
    ("PUT /p?op=CREATE", 307, None, CallOutcome.DONE),
    ("GET /p?op=OPEN", 307, None, CallOutcome.DONE),
    ("DELETE /p?op=DELETE", 200, TRUE, CallOutcome.DONE),
    # nothing was there to be deleted or moved
    ("DELETE /p?op=DELETE", 200, FALSE, CallOutcome.UNDONE),
    ("PUT /p?op=RENAME&destination=/q", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=RENAME&destination=/q", 200, FALSE, CallOutcome.UNDONE),
    ("PUT /p?op=SETREPLICATION", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=SETREPLICATION", 200, FALSE, CallOutcome.UNDONE),
    # the last block is cut off later: false is no refusal
    ("POST /p?op=TRUNCATE", 200, FALSE, CallOutcome.DONE),
    ("PUT /p?op=RENAME&op=MKDIRS&destination=/q", 200, FALSE, CallOutcome.DONE),
    # refused
    ("GET /p?op=OPEN", 403, DENIED, CallOutcome.UNDONE),
    ("GET /p?op=X", 400, refusal("IllegalArgumentException", "java.lang"), CallOutcome.UNDONE),
    ("DELETE /p?op=DELETE", 403, DENIED, CallOutcome.UNDONE),
    ("PUT /p?op=X", 400, None, CallOutcome.UNDONE),
    ("PUT /p?op=SETTIMES", 404, None, CallOutcome.UNDONE),
    ("PUT /p?op=SETTIMES", 403, QUOTA, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, DENIED, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, NO_DIRECTORY, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, EXISTS, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, SAFE_MODE, CallOutcome.UNDONE),
    # seen to come after missing ancestors had been made
    ("PUT /p?op=MKDIRS", 403, QUOTA, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, LIMIT, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 400, RESERVED, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, None, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, b"<html>", CallOutcome.HALFWAY),
    ("PUT /p?op=X&op=MKDIRS", 403, QUOTA, CallOutcome.HALFWAY),
    # no answer that tells
    ("DELETE /p?op=DELETE", None, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 408, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 500, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 503, DENIED, CallOutcome.UNKNOWN),
    # these never reach the namespace
    ("PATCH /p?op=DELETE", 500, NOT_ALLOWED, CallOutcome.UNDONE),
    ("FOO /p?op=DELETE", None, None, CallOutcome.UNDONE),
    ("OPTIONS /p?op=OPEN", 200, b"<application/>", CallOutcome.UNDONE),
    ("TRACE /p?op=OPEN", 500, NOT_ALLOWED, CallOutcome.UNDONE),
]


@pytest.mark.parametrize(("request_line", "status", "body", "outcome"), REPLIES)
def test_the_reply_tells_the_outcome(
    request_line: str, status: int | None, body: bytes | None, outcome: CallOutcome
) -> None:
    """A refusal that comes before anything is made must cost others nothing; what is doubtful is not a refusal."""
    method, _, target = request_line.partition(" ")
    assert outcome_of(parse_call(method, PREFIX + target), status, body) is outcome
