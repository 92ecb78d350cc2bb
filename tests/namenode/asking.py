"""Send requests to any WebHDFS server, and compare replies without the fields that differ between clusters."""

import http.client
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from nncache.testbed.asker import Asker
from tests.patience import HANG_S

PREFIX = "/webhdfs/v1"


@dataclass(frozen=True)
class Reply:
    """An HTTP reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[str, str]:
        """The exception's class and the first line of its message; a DataNode's message also has a stack trace."""
        remote = self.json["RemoteException"]
        return remote["javaClassName"], (remote["message"] or "").partition("\n")[0]


def ask(
    http_address: str,
    method: str,
    target: str,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str]] = (),
) -> Reply:
    """Send one request, byte for byte, and read its reply."""
    content = body or b"" if method in {"PUT", "POST"} else body
    with Asker(http_address, timeout_s=HANG_S) as asker:
        reply = asker.ask(method, target, headers=headers, body=content)
    return Reply(reply.status, dict(reply.headers), reply.body)


def target(path: str, op: str, user: str | None = None, **parameters: str | int) -> str:
    """Return the target of a request."""
    query: dict[str, str | int] = {"op": op}
    if user is not None:
        query["user.name"] = user
    query |= parameters
    return f"{PREFIX}{quote(path)}?{urlencode(query)}"


def call(
    http_address: str,
    method: str,
    path: str,
    op: str,
    user: str | None = None,
    body: bytes | None = None,
    **parameters: str | int,
) -> Reply:
    """Carry out an operation, including the redirect of an operation in two steps."""
    reply = ask(http_address, method, target(path, op, user, **parameters))
    if reply.status != http.client.TEMPORARY_REDIRECT:
        return reply
    address, _, rest = reply.headers["Location"].partition("//")[2].partition("/")
    return ask(address, method, "/" + rest, body)


_DIFFERING = re.compile(rb'"(accessTime|modificationTime|fileId)":\d+')
_CHECKSUM = re.compile(rb'"(algorithm|bytes)":"[^"]*"')
_NESTED = re.compile(rb"(the (?:subdirectory|ancestor)) \S+ is already")  # one is chosen by a hash of ids
_AT = re.compile(rb'(\\n\\tat [^"]*)|(\bat org\.apache[^"]*)')


def comparable(reply: Reply) -> tuple[int, bytes]:
    """Return status and body without times, ids, the type and value of checksums, and Java's stack traces."""
    body = _DIFFERING.sub(rb'"\1":0', reply.body)
    body = _NESTED.sub(rb"\1 PATH is already", body)
    return reply.status, _AT.sub(b"", _CHECKSUM.sub(rb'"\1":""', body))
