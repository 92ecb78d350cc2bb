from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GetServiceStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServiceStatusResponse(_message.Message):
    __slots__ = ("state", "ready_to_become_active", "not_ready_reason")
    STATE_FIELD_NUMBER: _ClassVar[int]
    READY_TO_BECOME_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    NOT_READY_REASON_FIELD_NUMBER: _ClassVar[int]
    state: int
    ready_to_become_active: bool
    not_ready_reason: str
    def __init__(self, state: _Optional[int] = ..., ready_to_become_active: bool = ..., not_ready_reason: _Optional[str] = ...) -> None: ...
