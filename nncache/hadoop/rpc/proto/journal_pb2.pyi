from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JournalId(_message.Message):
    __slots__ = ("identifier",)
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    identifier: str
    def __init__(self, identifier: _Optional[str] = ...) -> None: ...

class GetJournaledEditsRequest(_message.Message):
    __slots__ = ("jid", "since_txid", "max_txns", "name_service_id")
    JID_FIELD_NUMBER: _ClassVar[int]
    SINCE_TXID_FIELD_NUMBER: _ClassVar[int]
    MAX_TXNS_FIELD_NUMBER: _ClassVar[int]
    NAME_SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalId
    since_txid: int
    max_txns: int
    name_service_id: str
    def __init__(self, jid: _Optional[_Union[JournalId, _Mapping]] = ..., since_txid: _Optional[int] = ..., max_txns: _Optional[int] = ..., name_service_id: _Optional[str] = ...) -> None: ...

class GetJournaledEditsResponse(_message.Message):
    __slots__ = ("txn_count", "edit_log")
    TXN_COUNT_FIELD_NUMBER: _ClassVar[int]
    EDIT_LOG_FIELD_NUMBER: _ClassVar[int]
    txn_count: int
    edit_log: bytes
    def __init__(self, txn_count: _Optional[int] = ..., edit_log: _Optional[bytes] = ...) -> None: ...

class GetJournalStateRequest(_message.Message):
    __slots__ = ("jid", "name_service_id")
    JID_FIELD_NUMBER: _ClassVar[int]
    NAME_SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalId
    name_service_id: str
    def __init__(self, jid: _Optional[_Union[JournalId, _Mapping]] = ..., name_service_id: _Optional[str] = ...) -> None: ...

class GetJournalStateResponse(_message.Message):
    __slots__ = ("last_promised_epoch", "http_port", "from_url")
    LAST_PROMISED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    HTTP_PORT_FIELD_NUMBER: _ClassVar[int]
    FROM_URL_FIELD_NUMBER: _ClassVar[int]
    last_promised_epoch: int
    http_port: int
    from_url: bytes
    def __init__(self, last_promised_epoch: _Optional[int] = ..., http_port: _Optional[int] = ..., from_url: _Optional[bytes] = ...) -> None: ...
