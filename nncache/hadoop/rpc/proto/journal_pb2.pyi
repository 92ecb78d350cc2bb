from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
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

class GetEditLogManifestRequest(_message.Message):
    __slots__ = ("jid", "since_txid", "in_progress_ok", "name_service_id")
    JID_FIELD_NUMBER: _ClassVar[int]
    SINCE_TXID_FIELD_NUMBER: _ClassVar[int]
    IN_PROGRESS_OK_FIELD_NUMBER: _ClassVar[int]
    NAME_SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    jid: JournalId
    since_txid: int
    in_progress_ok: bool
    name_service_id: str
    def __init__(self, jid: _Optional[_Union[JournalId, _Mapping]] = ..., since_txid: _Optional[int] = ..., in_progress_ok: bool = ..., name_service_id: _Optional[str] = ...) -> None: ...

class RemoteEditLog(_message.Message):
    __slots__ = ("start_txid", "end_txid", "is_in_progress")
    START_TXID_FIELD_NUMBER: _ClassVar[int]
    END_TXID_FIELD_NUMBER: _ClassVar[int]
    IS_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    start_txid: int
    end_txid: int
    is_in_progress: bool
    def __init__(self, start_txid: _Optional[int] = ..., end_txid: _Optional[int] = ..., is_in_progress: bool = ...) -> None: ...

class RemoteEditLogManifest(_message.Message):
    __slots__ = ("logs",)
    LOGS_FIELD_NUMBER: _ClassVar[int]
    logs: _containers.RepeatedCompositeFieldContainer[RemoteEditLog]
    def __init__(self, logs: _Optional[_Iterable[_Union[RemoteEditLog, _Mapping]]] = ...) -> None: ...

class GetEditLogManifestResponse(_message.Message):
    __slots__ = ("manifest", "http_port", "from_url")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    HTTP_PORT_FIELD_NUMBER: _ClassVar[int]
    FROM_URL_FIELD_NUMBER: _ClassVar[int]
    manifest: RemoteEditLogManifest
    http_port: int
    from_url: bytes
    def __init__(self, manifest: _Optional[_Union[RemoteEditLogManifest, _Mapping]] = ..., http_port: _Optional[int] = ..., from_url: _Optional[bytes] = ...) -> None: ...
