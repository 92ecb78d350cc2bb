"""Read a request for events.

Pure.
"""

import re
from dataclasses import dataclass
from typing import Final

from nncache.events.source import AfterTxid
from nncache.hadoop.paths import InvalidPathError, percent_decode
from nncache.proxy.errors import ClientError
from nncache.proxy.messages import Headers

EVENTS: Final = "/v1/events"
"""The path of the resource. A NameNode serves no path that begins with `/v1`, only `/webhdfs/v1`."""

KNOWN: Final = ("filter", "from", "user.name", "doas", "delegation")
"""The supported parameters."""

_MAX_TXID: Final = (1 << 63) - 1  # Java's long
_POSITION: Final = re.compile(r"(0|[1-9][0-9]{0,18})(?:@([A-Za-z0-9._-]{1,128}))?")
_MAX_QUOTED: Final = 64
"""Number of characters of a wrong value that an error shows."""


@dataclass(frozen=True, slots=True)
class EventsRequest:
    """A request for the events of a filter.

    Attributes:
        filter_name: the filter, as the client names it.
        after: the position to start from; None: the present.
        user: the value of `user.name`, unproven; None: none.
        for_another: the parameter that names another caller than the authenticated one: doas, delegation; "": none.
    """

    filter_name: str
    after: AfterTxid | None
    user: str | None
    for_another: str


def is_events(target: str) -> bool:
    """Whether a raw target names the resource, in origin-form (RFC 9112, section 3.2.1)."""
    return target.startswith(EVENTS) and target[len(EVENTS) : len(EVENTS) + 1] in {"", "?"}


def read_events_request(target: str, headers: Headers) -> EventsRequest:
    """Read a request.

    `Last-Event-ID` overrides `from`: a client that reconnects repeats its first target.

    Raises:
        ClientError: the request is invalid; the message says what is allowed.
    """
    given = _parameters(target)
    name = given.get("filter", "")
    if not name:
        raise ClientError("filter is missing: give the name of a filter, such as filter=joeSUCCESSFiles")
    ids = [value for key, value in headers if key.lower() == b"last-event-id"]
    if len(ids) > 1:
        raise ClientError("Last-Event-ID is given more than once")
    # A client that has received no id yet may send an empty one.
    last_id = ids[0].decode("utf-8", "replace").strip() if ids else ""
    after = _position("from", given["from"]) if "from" in given else None
    if last_id:
        after = _position("Last-Event-ID", last_id)
    for_another = next((key for key in ("delegation", "doas") if key in given), "")
    return EventsRequest(name, after, given.get("user.name") or None, for_another)


def _parameters(target: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for parameter in filter(None, target.partition("?")[2].split("&")):
        key, _, value = (_decoded(part) for part in parameter.partition("="))
        if key not in KNOWN:
            raise ClientError(f"{_quoted(key)} is no parameter here: there are {', '.join(KNOWN)}")
        if key in given:
            raise ClientError(f"{key} is given more than once")
        given[key] = value
    return given


def _decoded(text: str) -> str:
    try:
        return percent_decode(text.replace("+", " "))
    except InvalidPathError as exc:
        raise ClientError(f"the query cannot be read: {exc}") from exc


def _position(name: str, text: str) -> AfterTxid:
    found = _POSITION.fullmatch(text)
    if found is None or int(found[1]) > _MAX_TXID:
        raise ClientError(
            f"{name}: {_quoted(text)}: must be a transaction id, such as 4711: the id of the last event received"
        )
    return AfterTxid(int(found[1]), found[2])


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}...")
