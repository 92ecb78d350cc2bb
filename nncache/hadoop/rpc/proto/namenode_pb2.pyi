from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StorageInfo(_message.Message):
    __slots__ = ("cluster_id",)
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    def __init__(self, cluster_id: _Optional[str] = ...) -> None: ...

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
