"""The replies of the front end as values, without a connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from nncache.cache import Hit
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.messages import Headers
from tests.invalidation.virtual_time import clock
from tests.model.namespace import NameNodeReply
from tests.model.upstream import ODD_ANSWERS, ClientRequest


@dataclass
class Remembered:
    """The decisions of the fast path: hits by request, served while the cache's `is_good` confirms them."""

    is_good: Callable[[Hit, float], bool]
    hits: dict[bytes, tuple[Hit, bytes]] = field(default_factory=dict)

    def remember(self, head: bytes, hit: Hit, body: bytes, until: float, is_last: bool) -> None:
        """Store a hit."""
        expires_at = min(hit.expires_at, until)
        kept = Hit(hit.entry, hit.grant, forget_epoch=hit.forget_epoch, expires_at=expires_at)
        self.hits[head] = kept, body

    def answer(self, request: ClientRequest) -> tuple[Headers, NameNodeReply] | None:
        """Return the reply to a known request if its hit is still valid."""
        remembered = self.hits.get(request.whole)
        if remembered is None or not self.is_good(remembered[0], clock()):
            return None
        hit, body = remembered
        reply = hit.entry.reply
        return (*reply.headers, (b"Cache-Status", b"nncache; hit")), NameNodeReply(reply.status, body)


def unquoted(answer: NameNodeReply, path: str, spelled: str) -> NameNodeReply:
    """Return a reply with the canonical path instead of the spelling that a 404 quotes."""
    if answer.status != HTTPStatus.NOT_FOUND or spelled == path or answer in ODD_ANSWERS:
        return answer
    is_own = answer.body == render_missing(spelled)
    return NameNodeReply(
        answer.status, render_missing(path) if is_own else b"of another spelling: " + answer.body
    )


def made(fields: Headers) -> bytes:
    """Return the value of the single `Cache-Status` field."""
    (made,) = (value for name, value in fields if name == b"Cache-Status")
    return made


def parts(response: RawResponse) -> tuple[Headers, NameNodeReply]:
    """Split a response into its fields and the NameNode's reply."""
    fields, body = response._fields, response._whole  # noqa: SLF001 - there is no wire here
    assert body is not None
    return fields, NameNodeReply(response.status, body)
