"""A client that waits for a changed answer, in virtual time."""

from http import HTTPStatus

from nncache.hadoop.calls import PREFIX
from nncache.proxy.messages import Headers
from tests.invalidation.virtual_time import clock
from tests.model.judge import Reported
from tests.model.keeping import ModelConnection
from tests.model.namespace import NameNodeReply
from tests.model.replies import made, parts
from tests.model.system import ModelSystem
from tests.model.upstream import ClientRequest


async def wait(
    system: ModelSystem, path: str, user: str, wait_s: int, *, for_another: bool, is_kept: bool = False
) -> None:
    """Read a status, then wait for a changed one, or for the path to exist; judge both answers.

    `is_kept`: the connection holds the request without its task.
    """
    system = system.of(path)
    tag: Headers = ()
    answer = NameNodeReply(0, b"")
    for fields in ((), ((b"Prefer", b"wait=%d" % wait_s),)):
        started = clock()
        extra_fields = (
            ((b"If-None-Match", tag[0][1] if tag else b'"none"'),) if for_another or not fields else ()
        )
        target = f"{PREFIX}{path}?op=GETFILESTATUS&user.name={user}"
        connection = ModelConnection(may_hold=is_kept)
        request = ClientRequest("GET", target, (*fields, *extra_fields), connection=connection)
        response = await system.call(request, path)
        if response is None:
            return
        if response.status != HTTPStatus.NOT_MODIFIED:
            answer = parts(response)[1]
        tag = tuple(field for field in parts(response)[0] if field[0] == b"ETag")
        own = tuple(each for each in parts(response)[0] if each[0] not in {b"ETag", b"Preference-Applied"})
        cache_status = made(own)
        is_shared = bool(fields) and b"fwd=" in cache_status and b"collapsed" in cache_status
        is_shared &= all(name != b"Age" for name, _ in own)  # that of an ordinary call in flight has one
        system.judge.read(
            Reported(
                path=path,
                user=user,
                started=started,
                answer=answer,
                fields=own,
                made=cache_status,
                is_shared=is_shared,
            )
        )
