from nncache.hadoop.rpc.proto import inotify_pb2 as _inotify_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetEditsFromTxidRequest(_message.Message):
    __slots__ = ("txid",)
    TXID_FIELD_NUMBER: _ClassVar[int]
    txid: int
    def __init__(self, txid: _Optional[int] = ...) -> None: ...

class GetEditsFromTxidResponse(_message.Message):
    __slots__ = ("events_list",)
    EVENTS_LIST_FIELD_NUMBER: _ClassVar[int]
    events_list: _inotify_pb2.EventsList
    def __init__(self, events_list: _Optional[_Union[_inotify_pb2.EventsList, _Mapping]] = ...) -> None: ...

class GetCurrentEditLogTxidRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetCurrentEditLogTxidResponse(_message.Message):
    __slots__ = ("txid",)
    TXID_FIELD_NUMBER: _ClassVar[int]
    txid: int
    def __init__(self, txid: _Optional[int] = ...) -> None: ...

class IsFileClosedRequest(_message.Message):
    __slots__ = ("src",)
    SRC_FIELD_NUMBER: _ClassVar[int]
    src: str
    def __init__(self, src: _Optional[str] = ...) -> None: ...

class IsFileClosedResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: bool
    def __init__(self, result: bool = ...) -> None: ...

class GetFileInfoRequest(_message.Message):
    __slots__ = ("src",)
    SRC_FIELD_NUMBER: _ClassVar[int]
    src: str
    def __init__(self, src: _Optional[str] = ...) -> None: ...

class GetFileInfoResponse(_message.Message):
    __slots__ = ("fs",)
    FS_FIELD_NUMBER: _ClassVar[int]
    fs: HdfsFileStatus
    def __init__(self, fs: _Optional[_Union[HdfsFileStatus, _Mapping]] = ...) -> None: ...

class HdfsFileStatus(_message.Message):
    __slots__ = ("file_type", "path", "length", "permission", "owner", "group", "modification_time", "access_time", "symlink", "block_replication", "blocksize", "file_id", "children_num", "storage_policy", "flags")
    FILE_TYPE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MODIFICATION_TIME_FIELD_NUMBER: _ClassVar[int]
    ACCESS_TIME_FIELD_NUMBER: _ClassVar[int]
    SYMLINK_FIELD_NUMBER: _ClassVar[int]
    BLOCK_REPLICATION_FIELD_NUMBER: _ClassVar[int]
    BLOCKSIZE_FIELD_NUMBER: _ClassVar[int]
    FILE_ID_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_NUM_FIELD_NUMBER: _ClassVar[int]
    STORAGE_POLICY_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    file_type: int
    path: bytes
    length: int
    permission: _inotify_pb2.FsPermission
    owner: bytes
    group: bytes
    modification_time: int
    access_time: int
    symlink: bytes
    block_replication: int
    blocksize: int
    file_id: int
    children_num: int
    storage_policy: int
    flags: int
    def __init__(self, file_type: _Optional[int] = ..., path: _Optional[bytes] = ..., length: _Optional[int] = ..., permission: _Optional[_Union[_inotify_pb2.FsPermission, _Mapping]] = ..., owner: _Optional[bytes] = ..., group: _Optional[bytes] = ..., modification_time: _Optional[int] = ..., access_time: _Optional[int] = ..., symlink: _Optional[bytes] = ..., block_replication: _Optional[int] = ..., blocksize: _Optional[int] = ..., file_id: _Optional[int] = ..., children_num: _Optional[int] = ..., storage_policy: _Optional[int] = ..., flags: _Optional[int] = ...) -> None: ...

class RollEditsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RollEditsResponse(_message.Message):
    __slots__ = ("new_segment_txid",)
    NEW_SEGMENT_TXID_FIELD_NUMBER: _ClassVar[int]
    new_segment_txid: int
    def __init__(self, new_segment_txid: _Optional[int] = ...) -> None: ...

class CheckAccessRequest(_message.Message):
    __slots__ = ("path", "mode")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    path: str
    mode: int
    def __init__(self, path: _Optional[str] = ..., mode: _Optional[int] = ...) -> None: ...

class CheckAccessResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MkdirsRequest(_message.Message):
    __slots__ = ("src", "masked", "create_parent")
    SRC_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    CREATE_PARENT_FIELD_NUMBER: _ClassVar[int]
    src: str
    masked: _inotify_pb2.FsPermission
    create_parent: bool
    def __init__(self, src: _Optional[str] = ..., masked: _Optional[_Union[_inotify_pb2.FsPermission, _Mapping]] = ..., create_parent: bool = ...) -> None: ...

class MkdirsResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: bool
    def __init__(self, result: bool = ...) -> None: ...

class SetOwnerRequest(_message.Message):
    __slots__ = ("src", "username", "groupname")
    SRC_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    GROUPNAME_FIELD_NUMBER: _ClassVar[int]
    src: str
    username: str
    groupname: str
    def __init__(self, src: _Optional[str] = ..., username: _Optional[str] = ..., groupname: _Optional[str] = ...) -> None: ...

class SetOwnerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Rename2Request(_message.Message):
    __slots__ = ("src", "dst", "overwrite_dest")
    SRC_FIELD_NUMBER: _ClassVar[int]
    DST_FIELD_NUMBER: _ClassVar[int]
    OVERWRITE_DEST_FIELD_NUMBER: _ClassVar[int]
    src: str
    dst: str
    overwrite_dest: bool
    def __init__(self, src: _Optional[str] = ..., dst: _Optional[str] = ..., overwrite_dest: bool = ...) -> None: ...

class Rename2Response(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("src", "recursive")
    SRC_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    src: str
    recursive: bool
    def __init__(self, src: _Optional[str] = ..., recursive: bool = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: bool
    def __init__(self, result: bool = ...) -> None: ...

class SetXAttrRequest(_message.Message):
    __slots__ = ("src", "x_attr", "flag")
    SRC_FIELD_NUMBER: _ClassVar[int]
    X_ATTR_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    src: str
    x_attr: _inotify_pb2.XAttr
    flag: int
    def __init__(self, src: _Optional[str] = ..., x_attr: _Optional[_Union[_inotify_pb2.XAttr, _Mapping]] = ..., flag: _Optional[int] = ...) -> None: ...

class SetXAttrResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
