"""Decodes transactions of the edit log into operations and their fields.

Sans-I/O. Source: FSEditLogOpCodes, FSEditLogOp and NameNodeLayoutVersion of Hadoop 2.10.2 to 3.5.0. Layout versions are
negative: -63 is Hadoop 2.7 to 2.10, -64 is 3.0 and 3.1, -65 is 3.2, -66 is 3.3, -67 is 3.4 and 3.5.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

import msgspec

from nncache.hadoop.editlog.fields import (
    BOOLEAN,
    BYTE,
    INT,
    LONG,
    MODE,
    SHORT,
    UNREADABLE,
    FieldType,
    acl,
    blocks,
    octets,
    path_and_acl,
    path_and_xattrs,
    rename_options,
    rest,
    string,
    strings,
    text,
    xattrs,
)
from nncache.hadoop.editlog.frames import Frame

OLDEST_LAYOUT: Final = -60
NEWEST_LAYOUT: Final = -67


class OpCode(IntEnum):
    """FSEditLogOpCodes, without the prefix OP_; 5 and 6 were obsolete before the oldest layout."""

    ADD = 0
    RENAME_OLD = 1
    DELETE = 2
    MKDIR = 3
    SET_REPLICATION = 4
    SET_PERMISSIONS = 7
    SET_OWNER = 8
    CLOSE = 9
    SET_GENSTAMP_V1 = 10
    SET_NS_QUOTA = 11
    CLEAR_NS_QUOTA = 12
    TIMES = 13
    SET_QUOTA = 14
    RENAME = 15
    CONCAT_DELETE = 16
    SYMLINK = 17
    GET_DELEGATION_TOKEN = 18
    RENEW_DELEGATION_TOKEN = 19
    CANCEL_DELEGATION_TOKEN = 20
    UPDATE_MASTER_KEY = 21
    REASSIGN_LEASE = 22
    END_LOG_SEGMENT = 23
    START_LOG_SEGMENT = 24
    UPDATE_BLOCKS = 25
    CREATE_SNAPSHOT = 26
    DELETE_SNAPSHOT = 27
    RENAME_SNAPSHOT = 28
    ALLOW_SNAPSHOT = 29
    DISALLOW_SNAPSHOT = 30
    SET_GENSTAMP_V2 = 31
    ALLOCATE_BLOCK_ID = 32
    ADD_BLOCK = 33
    ADD_CACHE_DIRECTIVE = 34
    REMOVE_CACHE_DIRECTIVE = 35
    ADD_CACHE_POOL = 36
    MODIFY_CACHE_POOL = 37
    REMOVE_CACHE_POOL = 38
    MODIFY_CACHE_DIRECTIVE = 39
    SET_ACL = 40
    ROLLING_UPGRADE_START = 41
    ROLLING_UPGRADE_FINALIZE = 42
    SET_XATTR = 43
    REMOVE_XATTR = 44
    SET_STORAGE_POLICY = 45
    TRUNCATE = 46
    APPEND = 47
    SET_QUOTA_BY_STORAGETYPE = 48
    ADD_ERASURE_CODING_POLICY = 49
    ENABLE_ERASURE_CODING_POLICY = 50
    DISABLE_ERASURE_CODING_POLICY = 51
    REMOVE_ERASURE_CODING_POLICY = 52


class Op(msgspec.Struct, frozen=True, gc=False):
    """A transaction. `fields` have Hadoop's names in lower case; they are empty for operations in `UNREAD`.

    Field values can be confidential, such as encrypted keys in extended attributes: `repr` omits them.
    """

    txid: int
    code: OpCode
    fields: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the transaction without the values of its fields."""
        return f"Op(txid={self.txid}, {self.code.name}: {', '.join(self.fields)})"


class UnknownOp(msgspec.Struct, frozen=True, gc=False):
    """A transaction that cannot be decoded: its changes are unknown."""

    txid: int
    reason: str


def decode_op(frame: Frame, layout_version: int) -> Op | UnknownOp:
    """Return a decoded transaction of a segment with this layout version. Never raises, whatever the bytes are."""
    plans = _PLANS.get(layout_version)
    if plans is None:
        return UnknownOp(
            frame.txid,
            f"layout version {layout_version} is not known here, {OLDEST_LAYOUT} to {NEWEST_LAYOUT} are",
        )
    plan = plans.get(frame.opcode)
    if plan is None:
        return UnknownOp(
            frame.txid, f"opcode {frame.opcode} is not known here in layout version {layout_version}"
        )
    code, names, steps = plan
    if code in UNREAD:
        return Op(frame.txid, code, {})
    body = frame.body
    at = 0
    values: list[Any] = []
    try:
        for unpack, size, read in steps:
            if unpack is not None:
                values += unpack(body, at)
                at += size
            else:
                found, at = read(body, at)
                values += found
    except UNREADABLE:
        at = -1
    if at != len(body):
        return UnknownOp(
            frame.txid, f"OP_{code.name} is not as it should be in layout version {layout_version}"
        )
    return Op(frame.txid, code, dict(zip(names, values, strict=True)))


# -- the table ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Field:
    """Consecutive fields of one type, with one name for each value."""

    type: FieldType
    names: tuple[str, ...]
    since: int


def _field(kind: FieldType, *names: str, since: int = OLDEST_LAYOUT) -> _Field:
    return _Field(kind, names, since)


_APPEND: Final = -62  # NameNodeLayoutVersion.Feature.APPEND_NEW_BLOCK
_TRUNCATE: Final = -61
_ERASURE_CODING: Final = -64
_SNAPSHOT_MTIME: Final = -66  # SNAPSHOT_MODIFICATION_TIME

_PATH: Final = _field(string, "path")
_NAME: Final = _field(string, "name")
_TIMESTAMP: Final = _field(LONG, "timestamp")
_INODE_ID: Final = _field(LONG, "inode_id")
_PERMISSIONS: Final = (_field(text, "owner"), _field(text, "group"), _field(MODE, "mode"))
_CLIENT: Final = (_field(string, "client_name"), _field(string, "client_machine"))
_RPC: Final = (_field(octets, "rpc_client_id"), _field(INT, "rpc_call_id"))
_FILE: Final = (
    _INODE_ID,
    _PATH,
    _field(SHORT, "replication"),
    _field(LONG, "mtime"),
    _field(LONG, "atime"),
    _field(LONG, "block_size"),
    _field(blocks, "blocks"),
    *_PERMISSIONS,
)
_BLOCKS: Final = (_PATH, _field(rest))  # blocks of an open file
_SNAPSHOT: Final = (_field(LONG, "mtime", since=_SNAPSHOT_MTIME), *_RPC)

_FIELDS: Final[dict[OpCode, tuple[_Field, ...]]] = {
    OpCode.ADD: (
        *_FILE,
        _field(acl, "acl"),
        _field(xattrs, "xattrs"),
        *_CLIENT,
        _field(BOOLEAN, "overwrite"),
        _field(BYTE, "storage_policy_id"),
        _field(BYTE, "erasure_coding_policy_id", since=_ERASURE_CODING),
        *_RPC,
    ),
    OpCode.RENAME_OLD: (_field(string, "src"), _field(string, "dst"), _TIMESTAMP, *_RPC),
    OpCode.DELETE: (_PATH, _TIMESTAMP, *_RPC),
    OpCode.MKDIR: (
        _INODE_ID,
        _PATH,
        _TIMESTAMP,
        _field(LONG, "atime"),  # always equals the timestamp
        *_PERMISSIONS,
        _field(acl, "acl"),
        _field(xattrs, "xattrs"),
    ),
    OpCode.SET_REPLICATION: (_PATH, _field(SHORT, "replication")),
    OpCode.SET_PERMISSIONS: (_PATH, _field(MODE, "mode")),
    OpCode.SET_OWNER: (_PATH, _field(string, "owner"), _field(string, "group")),  # "": unchanged
    OpCode.CLOSE: _FILE,
    OpCode.TIMES: (_PATH, _field(LONG, "mtime"), _field(LONG, "atime")),  # -1: unchanged
    OpCode.RENAME: (
        _field(string, "src"),
        _field(string, "dst"),
        _TIMESTAMP,
        _field(rename_options, "options"),
        *_RPC,
    ),
    OpCode.CONCAT_DELETE: (_field(string, "trg"), _field(strings, "srcs"), _TIMESTAMP, *_RPC),
    OpCode.SYMLINK: (
        _INODE_ID,
        _PATH,
        _field(string, "value"),
        _field(LONG, "mtime"),
        _field(LONG, "atime"),
        *_PERMISSIONS,
        *_RPC,
    ),
    OpCode.UPDATE_BLOCKS: _BLOCKS,
    OpCode.CREATE_SNAPSHOT: (_PATH, _NAME, *_SNAPSHOT),
    OpCode.DELETE_SNAPSHOT: (_PATH, _NAME, *_SNAPSHOT),
    OpCode.RENAME_SNAPSHOT: (_PATH, _field(string, "old_name"), _field(string, "new_name"), *_SNAPSHOT),
    OpCode.ALLOW_SNAPSHOT: (_PATH,),
    OpCode.DISALLOW_SNAPSHOT: (_PATH,),
    OpCode.ADD_BLOCK: _BLOCKS,
    OpCode.SET_ACL: (_field(path_and_acl, "path", "acl"),),  # the full new list
    OpCode.SET_XATTR: (_field(path_and_xattrs, "path", "xattrs"), *_RPC),
    OpCode.REMOVE_XATTR: (_field(path_and_xattrs, "path", "xattrs"), *_RPC),
    OpCode.SET_STORAGE_POLICY: (_PATH, _field(BYTE, "policy_id")),
    OpCode.TRUNCATE: (
        _PATH,
        *_CLIENT,
        _field(LONG, "new_length"),
        _TIMESTAMP,
        _field(rest),  # a block if the file stays open until its CLOSE
    ),
    OpCode.APPEND: (_PATH, *_CLIENT, _field(BOOLEAN, "new_block"), *_RPC),
}

UNREAD: Final = frozenset(OpCode) - _FIELDS.keys()
"""Operations that change nothing a status shows. Their bodies, some with tokens and secret keys, are not read."""

_SINCE: Final = {
    OpCode.TRUNCATE: _TRUNCATE,
    OpCode.APPEND: _APPEND,
}
"""The first layout with an operation, if it is not the oldest layout."""

# -- the table as it is executed ------------------------------------------------------------------------------

_Step: TypeAlias = tuple[Any, int, Any]  # unpack and size of consecutive numbers; or None, 0, a reader
_Plan: TypeAlias = tuple[OpCode, tuple[str, ...], tuple[_Step, ...]]


def _plan(code: OpCode, layout_version: int) -> _Plan:
    fields = [field for field in _FIELDS.get(code, ()) if layout_version <= field.since]
    return code, tuple(name for field in fields for name in field.names), tuple(_steps(fields))


def _steps(fields: list[_Field]) -> Iterator[_Step]:
    numbers = ""
    for field in fields:
        if isinstance(field.type, str):
            numbers += field.type
            continue
        if numbers:
            yield _numbers(numbers)
            numbers = ""
        yield None, 0, field.type
    if numbers:
        yield _numbers(numbers)


def _numbers(codes: str) -> _Step:
    packed = struct.Struct(f">{codes}")
    return packed.unpack_from, packed.size, None


_PLANS: Final[dict[int, dict[int, _Plan]]] = {
    layout_version: {
        int(code): _plan(code, layout_version)
        for code in OpCode
        if layout_version <= _SINCE.get(code, OLDEST_LAYOUT)
    }
    for layout_version in range(NEWEST_LAYOUT, OLDEST_LAYOUT + 1)
}
"""The plans, by layout version and opcode."""
