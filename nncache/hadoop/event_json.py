"""Write HDFS inotify events as JSON, and read them.

Keys and values are the words of `org.apache.hadoop.hdfs.inotify.Event` (Hadoop 3.5.0): `{"type": "CREATE",
"iNodeType": "FILE", "path": "/a"}`. A field at its default (see `events.py`) is left out. Modes are octal text, as
in WebHDFS ("644"), the permissions of an ACL entry "rw-", values of extended attributes base64.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from typing import Final, TypeVar

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Append,
    Close,
    Create,
    Event,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType

_MODE: Final = re.compile("[0-7]{1,11}")  # 32 bits at most
_ACTIONS: Final = ("---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx")  # FsAction, by its number
_INT64: Final = range(-(1 << 63), 1 << 63)

_EnumT = TypeVar("_EnumT", bound=Enum)


class EventJsonError(HadoopError, ValueError):
    """The value is no event, or of a kind that is not known here; says where and why."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How one attribute is spelled; both functions work on values of the right type or raise EventJsonError."""

    key: str
    attribute: str
    write: Callable[[object], object]
    read: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class _Form:
    """How the values of one class are spelled."""

    made_of: Callable[..., object]
    fields: tuple[_Field, ...]
    defaults: Mapping[str, object]  # of the attributes that may be left out

    def write(self, value: object) -> dict[str, object]:
        return {
            field.key: field.write(held)
            for field in self.fields
            if (held := getattr(value, field.attribute)) != self.defaults.get(field.attribute, MISSING)
        }

    def read(self, value: object) -> object:
        if not isinstance(value, Mapping):
            raise EventJsonError(f"not an object: {value!r}")
        found = {}
        for field in self.fields:
            if field.key in value:
                try:
                    found[field.attribute] = field.read(value[field.key])
                except EventJsonError as exc:
                    raise EventJsonError(f"{field.key}: {exc}") from exc
            elif field.attribute not in self.defaults:
                raise EventJsonError(f"no {field.key}")
        return self.made_of(**found)


def _is_written(value: object) -> object:
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise EventJsonError(f"not a text: {value!r}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise EventJsonError(f"neither true nor false: {value!r}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
        raise EventJsonError(f"not a number of 64 bits: {value!r}")
    return value


def _mode(value: object) -> int:
    text = _text(value)
    if not _MODE.fullmatch(text):
        raise EventJsonError(f"not an octal mode: {value!r}")
    return int(text, 8)


def _write_mode(value: object) -> str:
    return format(value, "o")


def _action(value: object) -> int:
    text = _text(value)
    if text not in _ACTIONS:
        raise EventJsonError(f"not permissions such as rw-: {value!r}")
    return _ACTIONS.index(text)


def _write_action(value: object) -> str:
    assert isinstance(value, int)
    return _ACTIONS[value]


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError) as exc:  # ValueError: characters beyond ASCII
        raise EventJsonError(f"not base64: {value!r}") from exc


def _write_bytes(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode("ascii")


def _plain(key: str, attribute: str, read: Callable[[object], object]) -> _Field:
    return _Field(key, attribute, _is_written, read)


def _word(key: str, attribute: str, kinds: type[_EnumT]) -> _Field:
    def read(value: object) -> _EnumT:
        kind = kinds.__members__.get(_text(value))
        if kind is None:
            raise EventJsonError(f"not one of {', '.join(kinds.__members__)}: {value!r}")
        return kind

    def write(value: object) -> str:
        assert isinstance(value, kinds)
        return value.name

    return _Field(key, attribute, write, read)


def _many(key: str, attribute: str, form: _Form) -> _Field:
    def read(value: object) -> tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise EventJsonError(f"not a list: {value!r}")
        return tuple(form.read(item) for item in value)

    def write(value: object) -> list[dict[str, object]]:
        assert isinstance(value, tuple)
        return [form.write(item) for item in value]

    return _Field(key, attribute, write, read)


def _form(made_of: type[Event | FileAclEntry | XAttr], *spelled: _Field) -> _Form:
    defaults = {field.name: field.default for field in fields(made_of) if field.default is not MISSING}
    return _Form(made_of, spelled, defaults)


_PATH: Final = _plain("path", "path", _text)
_TIMESTAMP: Final = _plain("timestamp", "timestamp", _number)
_FILE_SIZE: Final = _plain("fileSize", "file_size", _number)
_REPLICATION: Final = _plain("replication", "replication", _number)
_OWNER: Final = _plain("ownerName", "owner", _text)
_GROUP: Final = _plain("groupName", "group", _text)
_PERMS: Final = _Field("perms", "permission", _write_mode, _mode)

_ACL: Final = _form(
    FileAclEntry,
    _word("scope", "scope", AclScope),
    _word("type", "kind", AclKind),
    _plain("name", "name", _text),
    _Field("permission", "permissions", _write_action, _action),
)
_XATTR: Final = _form(
    XAttr,
    _word("nameSpace", "namespace", XAttrNamespace),
    _plain("name", "name", _text),
    _Field("value", "value", _write_bytes, _bytes),
)
_EVENTS: Final = {
    "CREATE": _form(
        Create,
        _word("iNodeType", "kind", FileType),
        _PATH,
        _plain("ctime", "ctime", _number),
        _OWNER,
        _GROUP,
        _PERMS,
        _REPLICATION,
        _plain("symlinkTarget", "symlink_target", _text),
        _plain("overwrite", "overwrite", _flag),
        _plain("defaultBlockSize", "default_block_size", _number),
        _plain("erasureCoded", "erasure_coded", _flag),
    ),
    "CLOSE": _form(Close, _PATH, _FILE_SIZE, _TIMESTAMP),
    "APPEND": _form(Append, _PATH, _plain("newBlock", "new_block", _flag)),
    "RENAME": _form(
        Rename, _plain("srcPath", "source", _text), _plain("dstPath", "destination", _text), _TIMESTAMP
    ),
    "METADATA": _form(
        MetadataUpdate,
        _word("metadataType", "kind", MetadataKind),
        _PATH,
        _plain("mtime", "mtime", _number),
        _plain("atime", "atime", _number),
        _REPLICATION,
        _OWNER,
        _GROUP,
        _PERMS,
        _many("acls", "acls", _ACL),
        _many("xAttrs", "xattrs", _XATTR),
        _plain("xAttrsRemoved", "xattrs_removed", _flag),
    ),
    "UNLINK": _form(Unlink, _PATH, _TIMESTAMP),
    "TRUNCATE": _form(Truncate, _PATH, _FILE_SIZE, _TIMESTAMP),
}
_KINDS: Final = {form.made_of: kind for kind, form in _EVENTS.items()}


def encode_event(event: Event) -> dict[str, object]:
    """Give an event as what a JSON object is made of; `decode_event` gives the same event back."""
    kind = _KINDS[type(event)]
    return {"type": kind, **_EVENTS[kind].write(event)}


def decode_event(value: Mapping[str, object]) -> Event:
    """Read what `encode_event` gave. Unknown keys are ignored, unknown kinds are not.

    Raises:
        EventJsonError: see the class.
    """
    if not isinstance(value, Mapping):
        raise EventJsonError(f"not an object: {value!r}")
    kind = value.get("type")
    form = _EVENTS.get(kind) if isinstance(kind, str) else None
    if form is None:
        raise EventJsonError(f"no kind of event: {kind!r}")
    try:
        event = form.read(value)
    except EventJsonError as exc:
        raise EventJsonError(f"{kind}: {exc}") from exc
    assert isinstance(event, Event)
    return event
