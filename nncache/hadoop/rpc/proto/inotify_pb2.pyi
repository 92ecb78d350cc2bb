from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_CREATE: _ClassVar[EventType]
    EVENT_CLOSE: _ClassVar[EventType]
    EVENT_APPEND: _ClassVar[EventType]
    EVENT_RENAME: _ClassVar[EventType]
    EVENT_METADATA: _ClassVar[EventType]
    EVENT_UNLINK: _ClassVar[EventType]
    EVENT_TRUNCATE: _ClassVar[EventType]
EVENT_CREATE: EventType
EVENT_CLOSE: EventType
EVENT_APPEND: EventType
EVENT_RENAME: EventType
EVENT_METADATA: EventType
EVENT_UNLINK: EventType
EVENT_TRUNCATE: EventType

class EventsList(_message.Message):
    __slots__ = ("first_txid", "last_txid", "sync_txid", "batch")
    FIRST_TXID_FIELD_NUMBER: _ClassVar[int]
    LAST_TXID_FIELD_NUMBER: _ClassVar[int]
    SYNC_TXID_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    first_txid: int
    last_txid: int
    sync_txid: int
    batch: _containers.RepeatedCompositeFieldContainer[EventBatch]
    def __init__(self, first_txid: _Optional[int] = ..., last_txid: _Optional[int] = ..., sync_txid: _Optional[int] = ..., batch: _Optional[_Iterable[_Union[EventBatch, _Mapping]]] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("txid", "events")
    TXID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    txid: int
    events: _containers.RepeatedCompositeFieldContainer[RawEvent]
    def __init__(self, txid: _Optional[int] = ..., events: _Optional[_Iterable[_Union[RawEvent, _Mapping]]] = ...) -> None: ...

class RawEvent(_message.Message):
    __slots__ = ("type", "contents")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    type: int
    contents: bytes
    def __init__(self, type: _Optional[int] = ..., contents: _Optional[bytes] = ...) -> None: ...

class FsPermission(_message.Message):
    __slots__ = ("perm",)
    PERM_FIELD_NUMBER: _ClassVar[int]
    perm: int
    def __init__(self, perm: _Optional[int] = ...) -> None: ...

class CreateEvent(_message.Message):
    __slots__ = ("type", "path", "ctime", "owner_name", "group_name", "perms", "replication", "symlink_target", "overwrite", "default_block_size", "erasure_coded")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CTIME_FIELD_NUMBER: _ClassVar[int]
    OWNER_NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    PERMS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    SYMLINK_TARGET_FIELD_NUMBER: _ClassVar[int]
    OVERWRITE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_BLOCK_SIZE_FIELD_NUMBER: _ClassVar[int]
    ERASURE_CODED_FIELD_NUMBER: _ClassVar[int]
    type: int
    path: bytes
    ctime: int
    owner_name: bytes
    group_name: bytes
    perms: FsPermission
    replication: int
    symlink_target: bytes
    overwrite: bool
    default_block_size: int
    erasure_coded: bool
    def __init__(self, type: _Optional[int] = ..., path: _Optional[bytes] = ..., ctime: _Optional[int] = ..., owner_name: _Optional[bytes] = ..., group_name: _Optional[bytes] = ..., perms: _Optional[_Union[FsPermission, _Mapping]] = ..., replication: _Optional[int] = ..., symlink_target: _Optional[bytes] = ..., overwrite: bool = ..., default_block_size: _Optional[int] = ..., erasure_coded: bool = ...) -> None: ...

class CloseEvent(_message.Message):
    __slots__ = ("path", "file_size", "timestamp")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    file_size: int
    timestamp: int
    def __init__(self, path: _Optional[bytes] = ..., file_size: _Optional[int] = ..., timestamp: _Optional[int] = ...) -> None: ...

class TruncateEvent(_message.Message):
    __slots__ = ("path", "file_size", "timestamp")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    file_size: int
    timestamp: int
    def __init__(self, path: _Optional[bytes] = ..., file_size: _Optional[int] = ..., timestamp: _Optional[int] = ...) -> None: ...

class AppendEvent(_message.Message):
    __slots__ = ("path", "new_block")
    PATH_FIELD_NUMBER: _ClassVar[int]
    NEW_BLOCK_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    new_block: bool
    def __init__(self, path: _Optional[bytes] = ..., new_block: bool = ...) -> None: ...

class RenameEvent(_message.Message):
    __slots__ = ("src_path", "dest_path", "timestamp")
    SRC_PATH_FIELD_NUMBER: _ClassVar[int]
    DEST_PATH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    src_path: bytes
    dest_path: bytes
    timestamp: int
    def __init__(self, src_path: _Optional[bytes] = ..., dest_path: _Optional[bytes] = ..., timestamp: _Optional[int] = ...) -> None: ...

class UnlinkEvent(_message.Message):
    __slots__ = ("path", "timestamp")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    timestamp: int
    def __init__(self, path: _Optional[bytes] = ..., timestamp: _Optional[int] = ...) -> None: ...

class AclEntry(_message.Message):
    __slots__ = ("type", "scope", "permissions", "name")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    type: int
    scope: int
    permissions: int
    name: bytes
    def __init__(self, type: _Optional[int] = ..., scope: _Optional[int] = ..., permissions: _Optional[int] = ..., name: _Optional[bytes] = ...) -> None: ...

class XAttr(_message.Message):
    __slots__ = ("namespace", "name", "value")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    namespace: int
    name: bytes
    value: bytes
    def __init__(self, namespace: _Optional[int] = ..., name: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class MetadataUpdateEvent(_message.Message):
    __slots__ = ("path", "type", "mtime", "atime", "replication", "owner_name", "group_name", "perms", "acls", "x_attrs", "x_attrs_removed")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MTIME_FIELD_NUMBER: _ClassVar[int]
    ATIME_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    OWNER_NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_NAME_FIELD_NUMBER: _ClassVar[int]
    PERMS_FIELD_NUMBER: _ClassVar[int]
    ACLS_FIELD_NUMBER: _ClassVar[int]
    X_ATTRS_FIELD_NUMBER: _ClassVar[int]
    X_ATTRS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    type: int
    mtime: int
    atime: int
    replication: int
    owner_name: bytes
    group_name: bytes
    perms: FsPermission
    acls: _containers.RepeatedCompositeFieldContainer[AclEntry]
    x_attrs: _containers.RepeatedCompositeFieldContainer[XAttr]
    x_attrs_removed: bool
    def __init__(self, path: _Optional[bytes] = ..., type: _Optional[int] = ..., mtime: _Optional[int] = ..., atime: _Optional[int] = ..., replication: _Optional[int] = ..., owner_name: _Optional[bytes] = ..., group_name: _Optional[bytes] = ..., perms: _Optional[_Union[FsPermission, _Mapping]] = ..., acls: _Optional[_Iterable[_Union[AclEntry, _Mapping]]] = ..., x_attrs: _Optional[_Iterable[_Union[XAttr, _Mapping]]] = ..., x_attrs_removed: bool = ...) -> None: ...
