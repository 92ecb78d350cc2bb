"""The JSON of WebHDFS's answers, byte for byte.

Source: org.apache.hadoop.hdfs.web.JsonUtil of Hadoop 3.5.0. In most answers the keys are in alphabetical order.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from string import hexdigits
from typing import Final, TypeAlias

from nncache.hadoop.filestatus import FileStatus, FileType, json_string
from nncache.namenode.namespace.acls import shown
from nncache.namenode.namespace.attributes import POLICIES
from nncache.namenode.namespace.inode import Block, BlockState, Inode
from nncache.namenode.namespace.permissions import STICKY
from nncache.namenode.namespace.reads import ContentSummary
from nncache.namenode.namespace.refusal import Refusal, io_error

Json: TypeAlias = "str | int | bool | Sequence[Json] | Mapping[str, Json] | None"


def render(value: Json) -> str:
    """Return JSON without spaces. Keys keep their order; text is escaped as Jackson does."""
    if isinstance(value, str):
        return f'"{json_string(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f'"{json_string(key)}":{render(each)}' for key, each in value.items()) + "}"
    return "[" + ",".join(map(render, value)) + "]"


def exception(refusal: Refusal) -> str:
    """Return a RemoteException."""
    name = refusal.java.value
    simple = name.rpartition(".")[2].rpartition("$")[2]
    return render(
        {"RemoteException": {"exception": simple, "javaClassName": name, "message": refusal.message}}
    )


def impersonation(message: str) -> str:
    """Return the refusal of a `doas`, in the layout of the other part of Hadoop that writes it."""
    return (
        '{\n  "RemoteException" : {\n'
        f'    "message" : "{json_string(message)}",\n    "exception" : "AuthorizationException",\n'
        '    "javaClassName" : "org.apache.hadoop.security.authorize.AuthorizationException"\n  }\n}'
    )


def status(found: FileStatus) -> dict[str, Json]:
    """Return a file status, without the flags that are not set."""
    optional: dict[str, Json] = {"aclBit": True} if found.acl_bit else {}
    enabled: dict[str, Json] = {"snapshotEnabled": True} if found.snapshot_enabled else {}
    return {
        "accessTime": found.access_time,
        **optional,
        "blockSize": found.block_size,
        "childrenNum": found.children_num,
        "fileId": found.file_id,
        "group": found.group,
        "length": found.length,
        "modificationTime": found.modification_time,
        "owner": found.owner,
        "pathSuffix": found.path_suffix,
        "permission": found.permission,
        "replication": found.replication,
        **enabled,
        "storagePolicy": found.storage_policy,
        "type": found.type.value,
    }


def listing(pages: Sequence[str]) -> str:
    """Return a whole listing, each status on its own line."""
    together = ",\n".join(pages)
    return f'{{"FileStatuses":{{"FileStatus":[\n{together}\n]}}}}\n'


def lines(page: Sequence[FileStatus]) -> str:
    """Return the lines of a page of it."""
    return ",\n".join(render(status(each)) for each in page)


_NO_FLAGS: Final = {"snapshotEnabled", "aclBit"}


def snapshottable(found: Sequence[tuple[str, FileStatus]]) -> Json:
    """Return snapshottable directories, each with its parent path."""
    return [
        {
            # HdfsFileStatus.Builder gets no policy here (SnapshottableDirectoryStatus, 3.5.0).
            "dirStatus": {key: value for key, value in status(each).items() if key not in _NO_FLAGS}
            | {"storagePolicy": 0},
            "parentFullPath": above,
            "snapshotNumber": 0,
            "snapshotQuota": 65536,
        }
        for above, each in found
    ]


def trash_root(path: str, found: FileStatus) -> Json:
    """Return the status of a trash directory; these keys are those of org.apache.hadoop.fs.FileStatus."""
    return {
        "blocksize": found.block_size,
        "owner": found.owner,
        "path": path,
        "length": found.length,
        "permission": found.permission,
        "modification_time": found.modification_time,
        "isdir": found.type is FileType.DIRECTORY,
        "block_replication": found.replication,
        "access_time": found.access_time,
        "group": found.group,
    }


def page(statuses: Sequence[FileStatus], remaining: int) -> Json:
    """Return a page of a listing."""
    partial: Json = {"FileStatuses": {"FileStatus": [status(each) for each in statuses]}}
    return {"DirectoryListing": {"partialListing": partial, "remainingEntries": remaining}}


def content_summary(found: ContentSummary) -> Json:
    """Return a content summary."""
    return {
        "ContentSummary": {
            "directoryCount": found.directories,
            "ecPolicy": "" if found.is_directory else "Replicated",
            "fileCount": found.files,
            "length": found.length,
            "quota": found.names_quota,
            "snapshotDirectoryCount": 0,
            "snapshotFileCount": 0,
            "snapshotLength": 0,
            "snapshotSpaceConsumed": 0,
            "spaceConsumed": found.space,
            "spaceQuota": found.space_quota,
            "typeQuota": {},
        }
    }


def quota_usage(found: ContentSummary) -> Json:
    """Return quotas and their usage."""
    return {
        "QuotaUsage": {
            "fileAndDirectoryCount": found.files + found.directories,
            "quota": found.names_quota,
            "spaceConsumed": found.space,
            "spaceQuota": found.space_quota,
            "typeQuota": {},
        }
    }


def acl_status(inode: Inode) -> Json:
    """Return an ACL."""
    return {
        "AclStatus": {
            "entries": shown(inode),
            "group": inode.group,
            "owner": inode.owner,
            "permission": f"{inode.mode:o}",
            "stickyBit": bool(inode.mode & STICKY),
        }
    }


def xattrs(found: Sequence[tuple[str, bytes]], encoding: str) -> Json:
    """Return extended attributes with their values."""
    return {
        "XAttrs": [
            {"name": name, "value": _xattr_value(value, encoding) if value else None} for name, value in found
        ]
    }


def _xattr_value(value: bytes, encoding: str) -> str:
    if encoding == "HEX":
        return "0x" + value.hex()
    if encoding == "BASE64":
        return "0s" + base64.b64encode(value).decode()
    return f'"{value.decode("utf-8", "replace")}"'


def xattr_names(found: Sequence[tuple[str, bytes]]) -> Json:
    """Return the names of extended attributes: JSON within JSON."""
    return {"XAttrNames": render([name for name, _ in found])}


def parse_xattr_value(value: str | None) -> bytes:
    """Parse the value of an extended attribute (XAttrCodec.decodeValue)."""
    if not value:
        return b""
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].encode()
    if value[:2] in {"0x", "0X"}:
        return _from_hex(value[2:])
    if value[:2] in {"0s", "0S"}:
        return _from_base64(value[2:])
    return value.encode()


def _from_hex(text: str) -> bytes:
    wrong = next(((at, letter) for at, letter in enumerate(text) if letter not in hexdigits), None)
    if wrong is None and len(text) % 2 == 0:
        return bytes.fromhex(text)
    why = "Odd number of characters."
    if wrong is not None and len(text) % 2 == 0:
        why = f"Illegal hexadecimal character {wrong[1]} at index {wrong[0]}"
    raise io_error(f"org.apache.hadoop.shaded.org.apache.commons.codec.DecoderException: {why}")


def _from_base64(text: str) -> bytes:
    """Read as much as there is (org.apache.commons.codec.binary.Base64): either alphabet, other letters left out."""
    letters = re.sub("[^A-Za-z0-9+/]", "", text.partition("=")[0].replace("-", "+").replace("_", "/"))
    return base64.b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + "==")


_POLICIES: Final[Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]]] = {
    "PROVIDED": (("PROVIDED", "DISK"), ("PROVIDED", "DISK"), ("PROVIDED", "DISK")),
    "COLD": ((), (), ("ARCHIVE",)),
    "WARM": (("DISK", "ARCHIVE"), ("DISK", "ARCHIVE"), ("DISK", "ARCHIVE")),
    "HOT": ((), ("ARCHIVE",), ("DISK",)),
    "ONE_SSD": (("SSD", "DISK"), ("SSD", "DISK"), ("SSD", "DISK")),
    "ALL_SSD": (("DISK",), ("DISK",), ("SSD",)),
    "ALL_NVDIMM": (("DISK",), ("DISK",), ("NVDIMM",)),
    "LAZY_PERSIST": (("DISK",), ("DISK",), ("RAM_DISK", "DISK")),
}
"""Fallbacks at creation and at replication, and storage types of each policy."""

_DEFAULT_POLICY: Final = POLICIES["HOT"]


def storage_policy(number: int) -> Json:
    """Return a storage policy; 0: the default."""
    number = number or _DEFAULT_POLICY
    name = next(each for each in POLICIES if POLICIES[each] == number)
    creation, replication, types = _POLICIES[name]
    return {
        "copyOnCreateFile": name == "LAZY_PERSIST",
        "creationFallbacks": creation,
        "id": number,
        "name": name,
        "replicationFallbacks": replication,
        "storageTypes": types,
    }


def storage_policies() -> Json:
    """Return all storage policies."""
    return {"BlockStoragePolicies": {"BlockStoragePolicy": list(map(storage_policy, POLICIES.values()))}}


def server_defaults() -> Json:
    """Return the server's defaults for values that a client does not set."""
    return {
        "FsServerDefaults": {
            "replication": 1,
            "encryptDataTransfer": False,
            "defaultStoragePolicyId": _DEFAULT_POLICY,
            "writePacketSize": 65536,
            "fileBufferSize": 4096,
            "checksumType": 1,
            "trashInterval": 1440,
            "keyProviderUri": "",
            "blockSize": 134217728,
            "bytesPerChecksum": 512,
        }
    }


Places: TypeAlias = Mapping[int, Sequence[str]]
"""Addresses (host:port) of the DataNodes that hold each block, by block id."""


def block_locations(file: Inode, places: Places, begin: int, length: int) -> Json:
    """Return the locations of a range of a file, in the shape of FileSystem.getFileBlockLocations."""
    return {
        "BlockLocations": {
            "BlockLocation": [
                {
                    "topologyPaths": [f"/default-rack/{name}" for name in places[block.id]],
                    "corrupt": False,
                    "cachedHosts": [],
                    "names": list(places[block.id]),
                    "offset": offset,
                    "hosts": [name.rpartition(":")[0] for name in places[block.id]],
                    "length": block.length,
                    "storageTypes": ["DISK" for _ in places[block.id]],
                }
                for offset, block in _blocks(file, begin, length)
            ]
        }
    }


def located_blocks(file: Inode, pool: str, places: Places, begin: int, length: int) -> Json:
    """Return the locations of a range of a file, in the shape of ClientProtocol.getBlockLocations."""
    last = file.blocks[-1] if file.blocks else None
    located = [
        _located(offset, block, pool, places[block.id]) for offset, block in _blocks(file, begin, length)
    ]
    of_last = None if last is None else _located(file.length - last.length, last, pool, places[last.id])
    is_complete = last is not None and last.state is BlockState.COMPLETE
    return {
        "LocatedBlocks": {
            "fileLength": file.known_length,
            "isLastBlockComplete": is_complete,
            "isUnderConstruction": file.is_open,
            "lastLocatedBlock": of_last,
            "locatedBlocks": located,
        }
    }


def _located(offset: int, block: Block, pool: str, names: Sequence[str]) -> Json:
    return {
        "block": {
            "blockId": block.id,
            "blockPoolId": pool,
            "generationStamp": block.stamp,
            "numBytes": block.length,
        },
        "blockToken": {"urlString": "AAAAAA"},
        "cachedLocations": [],
        "isCorrupt": False,
        "locations": [_location(name) for name in names],
        "startOffset": offset,
        "storageTypes": ["DISK" for _ in names],
    }


def _location(name: str) -> Json:
    host, _, spelled = name.rpartition(":")
    port = int(spelled)
    return {
        "adminState": "NORMAL",
        "blockPoolUsed": 0,
        "cacheCapacity": 0,
        "cacheUsed": 0,
        "capacity": 0,
        "dfsUsed": 0,
        "hostName": host,
        "infoPort": port,
        "infoSecurePort": 0,
        "ipAddr": host,
        "ipcPort": 0,
        "lastBlockReportMonotonic": 0,
        "lastBlockReportTime": 0,
        "lastUpdate": 0,
        "lastUpdateMonotonic": 0,
        "name": f"{host}:{port}",
        "networkLocation": "/default-rack",
        "remaining": 0,
        "storageID": "light",
        "xceiverCount": 0,
        "xferPort": port,
    }


def _blocks(file: Inode, begin: int, length: int) -> list[tuple[int, Block]]:
    """Return the blocks of a range of a file, each with its offset; an empty range counts as one byte."""
    found: list[tuple[int, Block]] = []
    at = 0
    for block in file.blocks:
        if at + block.length > begin and at < begin + max(length, 1):
            found.append((at, block))
        at += block.length
    return found
