"""Decode and encode file statuses of RPC calls.

Source: HdfsFileStatusProto of hdfs.proto, Hadoop 3.4.1 and 3.5.0.
"""

from typing import Final

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto.inotify_pb2 import FsPermission

_TYPES: Final = {1: FileType.DIRECTORY, 2: FileType.FILE, 3: FileType.SYMLINK}
_NUMBERS: Final = {kind: number for number, kind in _TYPES.items()}
_HAS_ACL: Final = 1


def status_of(status: client.HdfsFileStatus) -> FileStatus:
    """Return a status in the form of WebHDFS, without its optional keys.

    Raises MalformedReplyError: it holds an unknown type, or a name that is not UTF-8.
    """
    try:
        return FileStatus(
            type=_TYPES[status.file_type],
            path_suffix=status.path.decode(),
            length=status.length,
            owner=status.owner.decode(),
            group=status.group.decode(),
            permission=f"{status.permission.perm:o}",
            access_time=status.access_time,
            modification_time=status.modification_time,
            block_size=status.blocksize,
            replication=status.block_replication,
            file_id=status.file_id,
            children_num=status.children_num,
            storage_policy=status.storage_policy,
        )
    except (KeyError, UnicodeDecodeError) as exc:
        raise MalformedReplyError(f"a listing holds what cannot be read: {exc}") from exc


def encode_status(status: FileStatus) -> client.HdfsFileStatus:
    """Return a status as a NameNode sends it."""
    return client.HdfsFileStatus(
        file_type=_NUMBERS[status.type],
        path=status.path_suffix.encode(),
        length=status.length,
        permission=FsPermission(perm=int(status.permission, 8)),
        owner=status.owner.encode(),
        group=status.group.encode(),
        modification_time=status.modification_time,
        access_time=status.access_time,
        block_replication=status.replication,
        blocksize=status.block_size,
        file_id=status.file_id,
        children_num=status.children_num,
        storage_policy=status.storage_policy,
        flags=_HAS_ACL if status.acl_bit else 0,
    )
