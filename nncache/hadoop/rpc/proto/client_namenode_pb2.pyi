from nncache.hadoop.rpc.proto import inotify_pb2 as _inotify_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
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

class CreateRequest(_message.Message):
    __slots__ = ("src", "masked", "client_name", "create_flag", "create_parent", "replication", "block_size")
    SRC_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    CLIENT_NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_FLAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_PARENT_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    BLOCK_SIZE_FIELD_NUMBER: _ClassVar[int]
    src: str
    masked: _inotify_pb2.FsPermission
    client_name: str
    create_flag: int
    create_parent: bool
    replication: int
    block_size: int
    def __init__(self, src: _Optional[str] = ..., masked: _Optional[_Union[_inotify_pb2.FsPermission, _Mapping]] = ..., client_name: _Optional[str] = ..., create_flag: _Optional[int] = ..., create_parent: bool = ..., replication: _Optional[int] = ..., block_size: _Optional[int] = ...) -> None: ...

class CreateResponse(_message.Message):
    __slots__ = ("fs",)
    FS_FIELD_NUMBER: _ClassVar[int]
    fs: HdfsFileStatus
    def __init__(self, fs: _Optional[_Union[HdfsFileStatus, _Mapping]] = ...) -> None: ...

class CompleteRequest(_message.Message):
    __slots__ = ("src", "client_name", "file_id")
    SRC_FIELD_NUMBER: _ClassVar[int]
    CLIENT_NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_ID_FIELD_NUMBER: _ClassVar[int]
    src: str
    client_name: str
    file_id: int
    def __init__(self, src: _Optional[str] = ..., client_name: _Optional[str] = ..., file_id: _Optional[int] = ...) -> None: ...

class CompleteResponse(_message.Message):
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

class GetXAttrsRequest(_message.Message):
    __slots__ = ("src", "x_attrs")
    SRC_FIELD_NUMBER: _ClassVar[int]
    X_ATTRS_FIELD_NUMBER: _ClassVar[int]
    src: str
    x_attrs: _containers.RepeatedCompositeFieldContainer[_inotify_pb2.XAttr]
    def __init__(self, src: _Optional[str] = ..., x_attrs: _Optional[_Iterable[_Union[_inotify_pb2.XAttr, _Mapping]]] = ...) -> None: ...

class GetXAttrsResponse(_message.Message):
    __slots__ = ("x_attrs",)
    X_ATTRS_FIELD_NUMBER: _ClassVar[int]
    x_attrs: _containers.RepeatedCompositeFieldContainer[_inotify_pb2.XAttr]
    def __init__(self, x_attrs: _Optional[_Iterable[_Union[_inotify_pb2.XAttr, _Mapping]]] = ...) -> None: ...

class GetBatchedListingRequest(_message.Message):
    __slots__ = ("paths", "start_after", "need_location")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    START_AFTER_FIELD_NUMBER: _ClassVar[int]
    NEED_LOCATION_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    start_after: bytes
    need_location: bool
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., start_after: _Optional[bytes] = ..., need_location: bool = ...) -> None: ...

class GetBatchedListingResponse(_message.Message):
    __slots__ = ("listings", "has_more", "start_after")
    LISTINGS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    START_AFTER_FIELD_NUMBER: _ClassVar[int]
    listings: _containers.RepeatedCompositeFieldContainer[BatchedDirectoryListing]
    has_more: bool
    start_after: bytes
    def __init__(self, listings: _Optional[_Iterable[_Union[BatchedDirectoryListing, _Mapping]]] = ..., has_more: bool = ..., start_after: _Optional[bytes] = ...) -> None: ...

class BatchedDirectoryListing(_message.Message):
    __slots__ = ("partial_listing", "parent_idx", "exception")
    PARTIAL_LISTING_FIELD_NUMBER: _ClassVar[int]
    PARENT_IDX_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    partial_listing: _containers.RepeatedCompositeFieldContainer[HdfsFileStatus]
    parent_idx: int
    exception: ListingException
    def __init__(self, partial_listing: _Optional[_Iterable[_Union[HdfsFileStatus, _Mapping]]] = ..., parent_idx: _Optional[int] = ..., exception: _Optional[_Union[ListingException, _Mapping]] = ...) -> None: ...

class ListingException(_message.Message):
    __slots__ = ("class_name", "message")
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    message: str
    def __init__(self, class_name: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class StorageInfo(_message.Message):
    __slots__ = ("namespace_id", "cluster_id")
    NAMESPACE_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    namespace_id: int
    cluster_id: str
    def __init__(self, namespace_id: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class NamespaceInfo(_message.Message):
    __slots__ = ("block_pool_id", "storage_info")
    BLOCK_POOL_ID_FIELD_NUMBER: _ClassVar[int]
    STORAGE_INFO_FIELD_NUMBER: _ClassVar[int]
    block_pool_id: str
    storage_info: StorageInfo
    def __init__(self, block_pool_id: _Optional[str] = ..., storage_info: _Optional[_Union[StorageInfo, _Mapping]] = ...) -> None: ...

class VersionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class VersionResponse(_message.Message):
    __slots__ = ("info",)
    INFO_FIELD_NUMBER: _ClassVar[int]
    info: NamespaceInfo
    def __init__(self, info: _Optional[_Union[NamespaceInfo, _Mapping]] = ...) -> None: ...

class GetGroupsForUserRequest(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class GetGroupsForUserResponse(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[str]] = ...) -> None: ...
