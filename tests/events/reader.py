"""A naive parser of Server-Sent Events that follows the steps of the specification."""

import re

Message = tuple[str, str, str]
"""Type, data, and the last id at that point."""


def read_stream(stream: bytes) -> list[Message]:
    """Return the messages that a client dispatches (WHATWG HTML, 9.2.6 "Interpreting an event stream")."""
    messages: list[Message] = []
    event, data, last_id = "", "", ""
    *lines, rest = re.split("\r\n|\r|\n", stream.decode())
    assert not rest, f"a line that is not whole: {rest!r}"
    for line in lines:
        if not line:
            if data:
                messages.append((event or "message", data.removesuffix("\n"), last_id))
            event, data = "", ""
            continue
        if line.startswith(":"):
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            last_id = value
    assert not data, "a message that is not whole"
    return messages
