from nncache.hadoop.rpc.proto import inotify_pb2 as _inotify_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AclEditLog(_message.Message):
    __slots__ = ("src", "entries")
    SRC_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    src: bytes
    entries: _containers.RepeatedCompositeFieldContainer[_inotify_pb2.AclEntry]
    def __init__(self, src: _Optional[bytes] = ..., entries: _Optional[_Iterable[_Union[_inotify_pb2.AclEntry, _Mapping]]] = ...) -> None: ...

class XAttrEditLog(_message.Message):
    __slots__ = ("src", "x_attrs")
    SRC_FIELD_NUMBER: _ClassVar[int]
    X_ATTRS_FIELD_NUMBER: _ClassVar[int]
    src: bytes
    x_attrs: _containers.RepeatedCompositeFieldContainer[_inotify_pb2.XAttr]
    def __init__(self, src: _Optional[bytes] = ..., x_attrs: _Optional[_Iterable[_Union[_inotify_pb2.XAttr, _Mapping]]] = ...) -> None: ...
