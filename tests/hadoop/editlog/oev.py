"""The output of Hadoop's OfflineEditsViewer (`hdfs oev -p xml`) for a segment, and the same for decoded operations."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from nncache.hadoop.editlog.ops import UNREAD, Op, OpCode

MAIN: Final = "org.apache.hadoop.hdfs.tools.offlineEditsViewer.OfflineEditsViewer"

Leaves = list[tuple[str, str]]
"""Tags and texts, in order, of the elements without children."""

_RPC: Final = " RPC_CLIENTID:rpc_client_id RPC_CALLID:rpc_call_id"
_PERMISSIONS: Final = " USERNAME:owner GROUPNAME:group MODE:mode"
_FILE: Final = (
    "LENGTH=0 INODEID:inode_id PATH:path REPLICATION:replication MTIME:mtime ATIME:atime BLOCKSIZE:block_size"
)
_SNAPSHOT: Final = " MTIME:mtime" + _RPC

# Per operation: TAG:field, or TAG=text. oev shows neither extended attributes nor the storage policy of a new file.
_ROWS: Final = {
    OpCode.ADD: f"{_FILE} CLIENT_NAME:client_name CLIENT_MACHINE:client_machine OVERWRITE:overwrite BLOCK:blocks"
    f"{_PERMISSIONS} ENTRY:acl ERASURE_CODING_POLICY_ID:erasure_coding_policy_id{_RPC}",
    OpCode.CLOSE: f"{_FILE} CLIENT_NAME= CLIENT_MACHINE= OVERWRITE=false BLOCK:blocks{_PERMISSIONS}",
    OpCode.RENAME_OLD: f"LENGTH=0 SRC:src DST:dst TIMESTAMP:timestamp{_RPC}",
    OpCode.DELETE: f"LENGTH=0 PATH:path TIMESTAMP:timestamp{_RPC}",
    OpCode.MKDIR: f"LENGTH=0 INODEID:inode_id PATH:path TIMESTAMP:timestamp{_PERMISSIONS} ENTRY:acl XATTR:xattrs",
    OpCode.SET_REPLICATION: "PATH:path REPLICATION:replication",
    OpCode.SET_PERMISSIONS: "SRC:path MODE:mode",
    OpCode.SET_OWNER: "SRC:path USERNAME?owner GROUPNAME?group",
    OpCode.TIMES: "LENGTH=0 PATH:path MTIME:mtime ATIME:atime",
    OpCode.RENAME: f"LENGTH=0 SRC:src DST:dst TIMESTAMP:timestamp OPTIONS:options{_RPC}",
    OpCode.CONCAT_DELETE: f"LENGTH=0 TRG:trg TIMESTAMP:timestamp SOURCE:srcs{_RPC}",
    OpCode.SYMLINK: f"LENGTH=0 INODEID:inode_id PATH:path VALUE:value MTIME:mtime ATIME:atime{_PERMISSIONS}{_RPC}",
    OpCode.UPDATE_BLOCKS: "PATH:path",
    OpCode.CREATE_SNAPSHOT: f"SNAPSHOTROOT:path SNAPSHOTNAME:name{_SNAPSHOT}",
    OpCode.DELETE_SNAPSHOT: f"SNAPSHOTROOT:path SNAPSHOTNAME:name{_SNAPSHOT}",
    OpCode.RENAME_SNAPSHOT: f"SNAPSHOTROOT:path SNAPSHOTOLDNAME:old_name SNAPSHOTNEWNAME:new_name{_SNAPSHOT}",
    OpCode.ALLOW_SNAPSHOT: "SNAPSHOTROOT:path",
    OpCode.DISALLOW_SNAPSHOT: "SNAPSHOTROOT:path",
    OpCode.ADD_BLOCK: "PATH:path",
    OpCode.SET_ACL: "SRC:path ENTRY:acl",
    OpCode.SET_XATTR: f"SRC:path XATTR:xattrs{_RPC}",
    OpCode.REMOVE_XATTR: f"SRC:path XATTR:xattrs{_RPC}",
    OpCode.SET_STORAGE_POLICY: "PATH:path POLICYID:policy_id",
    OpCode.TRUNCATE: "SRC:path CLIENTNAME:client_name CLIENTMACHINE:client_machine NEWLENGTH:new_length "
    "TIMESTAMP:timestamp",
    OpCode.APPEND: f"PATH:path CLIENT_NAME:client_name CLIENT_MACHINE:client_machine NEWBLOCK:new_block{_RPC}",
}

_NO_REST: Final = {code.name for code in (OpCode.ADD_BLOCK, OpCode.UPDATE_BLOCKS, OpCode.TRUNCATE)}
_REST: Final = {"BLOCK_ID", "NUM_BYTES", "GENSTAMP", "RPC_CLIENTID", "RPC_CALLID"}
"""Elements that nncache does not decode for these operations."""


def read_xml(file: Path) -> Iterator[tuple[int, str, Leaves]]:
    """Yield transaction id, operation name and fields; no fields for the operations in `UNREAD`."""
    for record in ET.parse(file).getroot().iter("RECORD"):  # noqa: S314 - written by our own test bed
        data = record.find("DATA")
        name = record.findtext("OPCODE")
        assert data is not None
        assert name is not None
        (_, txid), *leaves = [(each.tag, each.text or "") for each in data.iter() if not len(each)]
        leaves = [leaf for leaf in leaves if leaf != ("VALUE", "0x")]  # no value: an event has no other form
        if name[3:] in _NO_REST:
            leaves = [leaf for leaf in leaves if leaf[0] not in _REST]
        yield int(txid), name, [] if name[3:] in {code.name for code in UNREAD} else leaves


def leaves_of(op: Op) -> tuple[int, str, Leaves]:
    """Return the same for a decoded operation."""
    found = [leaf for cell in _ROWS.get(op.code, "").split() for leaf in _leaves(cell, op.fields)]
    return op.txid, f"OP_{op.code.name}", found


def _leaves(cell: str, fields: Any) -> Iterator[tuple[str, str]]:
    tag, given, text = cell.partition("=")
    if given:
        yield tag, text
        return
    tag, _, name = cell.replace("?", ":").partition(":")
    value = fields.get(name)
    if value is not None and (value or "?" not in cell):
        yield from _rendered(tag, value)


def _rendered(tag: str, value: Any) -> Iterator[tuple[str, str]]:
    match tag:
        case "BLOCK":
            for number, length, stamp in value:
                yield from (("BLOCK_ID", str(number)), ("NUM_BYTES", str(length)), ("GENSTAMP", str(stamp)))
        case "ENTRY":
            for entry in value:
                yield from (("SCOPE", entry.scope.value), ("TYPE", entry.kind.value))
                yield from [("NAME", entry.name)] * bool(entry.name)
                yield "PERM", entry.permissions
        case "XATTR":
            for xattr in value:
                yield from (("NAMESPACE", xattr.namespace.value), ("NAME", xattr.name))
                yield from [("VALUE", f"0x{xattr.value.hex()}")] * bool(xattr.value)
        case "SOURCE":
            yield from ((f"SOURCE{number}", each) for number, each in enumerate(value, 1))
        case "OPTIONS":
            yield tag, "|".join(("NONE", "OVERWRITE", "TO_TRASH")[option] for option in value)
        case "RPC_CLIENTID":
            yield tag, str(UUID(bytes=value)) if value else ""
        case _:
            yield tag, str(value).lower() if isinstance(value, bool) else str(value)
