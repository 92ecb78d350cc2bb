"""Encode HDFS inotify events as JSON, and decode them.

Keys and values are the names of `org.apache.hadoop.hdfs.inotify.Event` (Hadoop 3.5.0): `{"type": "CREATE",
"iNodeType": "FILE", "path": "/a"}`. A field at its default (see `events.py`) is omitted. Modes are octal text, as in
WebHDFS ("644"), the permissions of an ACL entry like "rw-", values of extended attributes Base64.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.events import Event


class _Holder(msgspec.Struct):
    """Wraps an event: msgspec caches the type description of a Struct, but rebuilds that of a union for each value."""

    event: Event


class EventJsonError(HadoopError, ValueError):
    """The value is not an event, or is one of an unknown kind; says where and why."""


def encode_event(event: Event) -> dict[str, Any]:
    """Return an event as the content of a JSON object; `decode_event` returns the same event."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    return fields


def decode_event(value: Mapping[str, object]) -> Event:
    """Return the event that `encode_event` encoded. Unknown keys are ignored.

    Raises EventJsonError: it is not an event, or is one of an unknown kind.
    """
    try:
        return msgspec.convert({"event": value}, _Holder).event
    except (msgspec.ValidationError, UnicodeEncodeError) as exc:  # the second: a key is not UTF-8
        raise EventJsonError(f"not an event: {str(exc).replace('$.event', '$', 1)}") from exc
