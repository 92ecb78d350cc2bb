"""Write HDFS inotify events as JSON, and read them.

Keys and values are the words of `org.apache.hadoop.hdfs.inotify.Event` (Hadoop 3.5.0): `{"type": "CREATE",
"iNodeType": "FILE", "path": "/a"}`. A field at its default (see `events.py`) is left out. Modes are octal text, as
in WebHDFS ("644"), the permissions of an ACL entry "rw-", values of extended attributes base64.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.events import Event


class _Holder(msgspec.Struct):
    """msgspec keeps the description of a Struct's type, and makes that of a union again for each value."""

    event: Event


class EventJsonError(HadoopError, ValueError):
    """The value is no event, or of a kind that is not known here; says where and why."""


def encode_event(event: Event) -> dict[str, Any]:
    """Give an event as what a JSON object is made of; `decode_event` gives the same event back."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    return fields


def decode_event(value: Mapping[str, object]) -> Event:
    """Read what `encode_event` gave. Unknown keys are ignored, unknown kinds are not.

    Raises EventJsonError: see the class.
    """
    try:
        return msgspec.convert({"event": value}, _Holder).event
    except (msgspec.ValidationError, UnicodeEncodeError) as exc:  # the second: of a key that is no UTF-8
        raise EventJsonError(f"not an event: {str(exc).replace('$.event', '$', 1)}") from exc
