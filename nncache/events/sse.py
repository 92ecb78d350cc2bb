"""Encode Server-Sent Events.

Pure. Source: WHATWG HTML, section 9.2, "Server-sent events": a UTF-8 stream whose lines end with CR, LF or both,
and whose messages end with an empty line.
"""

import re
from typing import Final

HEARTBEAT: Final = b":\n\n"
"""A comment: clients ignore it, and gateways in between see that the connection is in use."""

_LINE_END: Final = re.compile("\r\n|\r|\n")
_NOT_IN_A_FIELD: Final = re.compile("[\r\n\0]")
"""A line end would end the field; an id that contains NUL is ignored ("If the field name is 'id'")."""


def encode_message(event: str, data: str, message_id: str | None = None) -> bytes:
    """Encode a message; without an id the client keeps its last one.

    Raises:
        ValueError: the event's type or the id contains a line end or NUL.
    """
    for name, value in (("event", event), ("id", message_id or "")):
        if _NOT_IN_A_FIELD.search(value):
            raise ValueError(f"{name} {value!r}: may hold neither a line end nor NUL")
    lines = [f"event: {event}"]
    if message_id is not None:
        lines.append(f"id: {message_id}")
    lines += [f"data: {line}" for line in _LINE_END.split(data)]
    return "".join(f"{line}\n" for line in (*lines, "")).encode("utf-8", "replace")


def encode_retry(delay_ms: int) -> bytes:
    """Encode the time that a client waits before it reconnects, in milliseconds."""
    return b"retry: %d\n\n" % delay_ms
