"""Requests of a user without rights: none may cost another user a hit.

Each gets the reply that a NameNode 3.5.0 was seen to give, and none of them changes anything.
"""

import asyncio
from typing import Final

from tests.model.acts import Simulation
from tests.model.draws import USERS, Draw
from tests.model.namespace import FALSE, NameNodeReply, remote_exception
from tests.model.upstream import REDIRECT

MALLORY: Final = "mallory"
"""A user who owns nothing. Where all users may write, mallory may too, and that cost is not judged."""

_DENIED: Final = remote_exception("org.apache.hadoop.security.AccessControlException", "no")
_UNKNOWN: Final = remote_exception("java.lang.IllegalArgumentException", "no such operation", 400)
_NOT_ALLOWED: Final = remote_exception("javax.ws.rs.NotAllowedException", "405", 500)
_HTML: Final = NameNodeReply(500, b"<html>")

CALLS: Final = (
    ("PUT", "{path}?op=RENAME&destination={other}", FALSE),
    ("PUT", "{path}?op=RENAME&destination={other}", _DENIED),
    ("DELETE", "{path}?op=DELETE&recursive=true", FALSE),
    ("DELETE", "{path}?op=DELETE&recursive=true", _DENIED),
    ("DELETE", "{path}?op=DELETE&recursive=true", _HTML),
    ("PUT", "{path}?op=MKDIRS", _DENIED),
    ("PUT", "{path}?op=SETPERMISSION&permission=777", _DENIED),
    ("PUT", "{path}?op=SETPERMISSION&permission=777", _HTML),
    ("PUT", "{path}?op=X&a={other}", _UNKNOWN),
    ("PATCH", "{path}?op=DELETE&a={other}", _NOT_ALLOWED),
    ("GET", "{path}?op=OPEN", _DENIED),
    ("GET", "{path}?op=X", _UNKNOWN),
    ("PUT", "/.reserved/.inodes/16385{path}?op=CREATE", REDIRECT),
    ("PUT", "{path}?op=CREATE&noredirect=true", REDIRECT),
    ("PUT", "{path}/not/there/x?op=CREATE&noredirect=true", REDIRECT),
)


async def pester(simulation: Simulation, number: int) -> None:
    """Fill the cache, then send calls that change nothing; the judge sees what they cost."""
    draw, system = Draw(number), simulation.system
    path, other = draw.path(), draw.path()
    chosen = [CALLS[draw.of(len(CALLS))] for _ in range(3)]
    for each in (path, other):
        await system.read(each, USERS[0])
    await asyncio.gather(
        *(
            system.pester(method, target.format(path=path, other=other), MALLORY, answer)
            for method, target, answer in chosen
        )
    )
