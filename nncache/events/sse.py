"""Server-Sent Events as bytes.

Pure. Source: WHATWG HTML, section 9.2, "Server-sent events": a stream of UTF-8, whose lines end with CR, LF or both,
and whose messages end with an empty line.
"""

import re
from typing import Final

HEARTBEAT: Final = b":\n\n"
"""A comment: a client ignores it, and every gateway in between sees that the connection is used."""

_LINE_END: Final = re.compile("\r\n|\r|\n")
_NOT_IN_A_FIELD: Final = re.compile("[\r\n\0]")
"""A line end would end the field; with NUL in it an id is ignored ("If the field name is 'id'")."""


def encode_message(event: str, data: str, message_id: str | None = None) -> bytes:
    """Return a message; without an id the client keeps the one that it has.

    Raises:
        ValueError: no client would read the event's type or the id as it is.
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
    """Return what tells a client how long to wait before it connects again."""
    return b"retry: %d\n\n" % delay_ms
