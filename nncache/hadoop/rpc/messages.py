"""Encode and parse the envelopes of Hadoop RPC calls and replies, for a client and for a server.

Sans-I/O. Source: RpcHeader.proto, ProtobufRpcEngine.proto and IpcConnectionContext.proto of Hadoop 3.4.1
and 3.5.0, whose field numbers `proto/rpc_header.proto` repeats.
"""

from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from nncache.hadoop.errors import FramingError
from nncache.hadoop.rpc.framing import IPC_VERSION, encode_frame, take_message
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb

CONTEXT_CALL_ID = -3
PING_CALL_ID = -4
SASL_CALL_ID = -33
MAX_CALL_ID = 2**31 - 1

PROTOCOL_VERSION = 1
"""The version of both ClientProtocol and HAServiceProtocol, since Hadoop 2."""

MessageT = TypeVar("MessageT", bound=Message)


@dataclass(frozen=True, slots=True)
class RpcSuccess:
    """The reply to a successful call; `body` holds the serialised result."""

    call_id: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcRefusal:
    """The reply to a call that the server refused, or that failed there."""

    call_id: int
    is_fatal: bool  # the server closes the connection; there may be no call with this id
    detail: int  # ErrorDetail; 0 if the server sent none
    class_name: str  # of the Java exception
    message: str  # without the lines of the Java stack trace


Reply = RpcSuccess | RpcRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcCall:
    """A client's call of a method."""

    call_id: int
    client_id: bytes
    retry_count: int
    protocol: str
    method: str
    body: bytes  # the serialised request


@dataclass(frozen=True, slots=True)
class Context:
    """The users that a client names in its connection context; None for a user that it does not name."""

    effective_user: str | None
    real_user: str | None


@dataclass(frozen=True, slots=True)
class Ping:
    """A client's keep-alive message."""


Request = RpcCall | Context | Ping | pb.RpcSasl


def encode_call(client_id: bytes, call_id: int, protocol: str, method: str, request: Message) -> bytes:
    """Encode the frame of one call of a Hadoop protocol's method."""
    header = pb.RequestHeader(
        method_name=method, declaring_class_protocol_name=protocol, client_protocol_version=PROTOCOL_VERSION
    )
    return encode_frame(
        _request_header(client_id, call_id, retry_count=0),
        header.SerializeToString(),
        request.SerializeToString(),
    )


def encode_context(
    client_id: bytes, effective_user: str | None, real_user: str | None, protocol: str
) -> bytes:
    """Encode the connection context, which names the user. It must precede the first call and gets no reply.

    Without a user name, the authenticated user is the caller. The server closes the connection if the name is empty.
    """
    context = pb.IpcConnectionContext(protocol=protocol)
    if effective_user is not None:
        context.user_info.effective_user = effective_user
    if real_user is not None:
        context.user_info.real_user = real_user
    return encode_frame(_request_header(client_id, CONTEXT_CALL_ID), context.SerializeToString())


def encode_sasl(client_id: bytes, message: pb.RpcSasl) -> bytes:
    """Encode the frame of a SASL message."""
    return encode_frame(_request_header(client_id, SASL_CALL_ID), message.SerializeToString())


def parse_sasl(frame: bytes) -> pb.RpcSasl | RpcRefusal:
    """Parse the server's SASL message or refusal. Raises FramingError: the frame holds neither."""
    encoded, end = take_message(frame, 0)
    header = parse_message(pb.RpcResponseHeader, encoded)
    if header.status != pb.RpcResponseHeader.SUCCESS:
        return _refused(header)
    if header.call_id != SASL_CALL_ID % 2**32:
        raise FramingError(f"the server answers call {header.call_id} where a SASL message is due")
    return parse_message(pb.RpcSasl, take_message(frame, end)[0])


def encode_ping(client_id: bytes) -> bytes:
    """Encode the keep-alive frame of a client; it gets no reply."""
    return encode_frame(_request_header(client_id, PING_CALL_ID))


def parse_reply(frame: bytes) -> Reply:
    """Parse the reply in a frame. Raises FramingError: the frame holds no reply."""
    encoded, end = take_message(frame, 0)
    header = parse_message(pb.RpcResponseHeader, encoded)
    if header.status == pb.RpcResponseHeader.SUCCESS:
        body, _ = take_message(frame, end)
        return RpcSuccess(header.call_id, body)
    return _refused(header)


def _refused(header: pb.RpcResponseHeader) -> RpcRefusal:
    return RpcRefusal(
        call_id=header.call_id,
        is_fatal=header.status == pb.RpcResponseHeader.FATAL,
        detail=header.error_detail,
        class_name=header.exception_class_name.decode(errors="replace"),
        message=header.error_message.decode(errors="replace").split("\n\tat ", 1)[0].strip(),
    )


def parse_request(frame: bytes) -> Request:
    """Parse a client's message, as a server does. Raises FramingError: the frame holds none."""
    encoded, end = take_message(frame, 0)
    header = parse_message(pb.RpcRequestHeader, encoded)
    if header.call_id == PING_CALL_ID:
        return Ping()
    encoded, end = take_message(frame, end)
    if header.call_id == SASL_CALL_ID:
        return parse_message(pb.RpcSasl, encoded)
    if header.call_id == CONTEXT_CALL_ID:
        user = parse_message(pb.IpcConnectionContext, encoded).user_info
        return Context(
            user.effective_user if user.HasField("effective_user") else None,
            user.real_user if user.HasField("real_user") else None,
        )
    asked = parse_message(pb.RequestHeader, encoded)
    return RpcCall(
        call_id=header.call_id,
        client_id=header.client_id,
        retry_count=header.retry_count,
        protocol=asked.declaring_class_protocol_name,
        method=asked.method_name,
        body=take_message(frame, end)[0],
    )


def encode_success(call: RpcCall, result: Message) -> bytes:
    """Encode the frame of a call's result."""
    header = _response_header(call.call_id, call.client_id, call.retry_count)
    return encode_frame(header.SerializeToString(), result.SerializeToString())


def encode_refusal(call: RpcCall, class_name: str, message: str, detail: int = pb.ERROR_APPLICATION) -> bytes:
    """Encode the frame of a call's exception; the connection stays usable."""
    header = _response_header(call.call_id, call.client_id, call.retry_count)
    return _encode_refused(header, pb.RpcResponseHeader.ERROR, class_name, message, detail)


def encode_fatal(call_id: int, class_name: str, message: str, detail: int) -> bytes:
    """Encode the error frame after which a server closes the connection."""
    header = _response_header(call_id, b"", -1)
    return _encode_refused(header, pb.RpcResponseHeader.FATAL, class_name, message, detail)


def encode_sasl_reply(message: pb.RpcSasl) -> bytes:
    """Encode the frame of a server's SASL message."""
    header = _response_header(SASL_CALL_ID, b"", -1)
    return encode_frame(header.SerializeToString(), message.SerializeToString())


def _encode_refused(
    header: pb.RpcResponseHeader,
    status: pb.RpcResponseHeader.Status,
    class_name: str,
    message: str,
    detail: int,
) -> bytes:
    header.status = status
    header.exception_class_name = class_name.encode()
    header.error_message = message.encode(errors="surrogatepass")
    header.error_detail = detail
    return encode_frame(header.SerializeToString())


def _response_header(call_id: int, client_id: bytes, retry_count: int) -> pb.RpcResponseHeader:
    return pb.RpcResponseHeader(
        call_id=call_id % 2**32,
        status=pb.RpcResponseHeader.SUCCESS,
        server_ipc_version=IPC_VERSION,
        client_id=client_id,
        retry_count=retry_count,
    )


def parse_message(kind: type[MessageT], encoded: bytes) -> MessageT:
    """Parse a serialised message of this kind.

    Raises FramingError: the bytes are no message of this kind, or a required field is missing.
    """
    message = kind()
    try:
        message.MergeFromString(encoded)
    except DecodeError as exc:
        raise FramingError(f"{len(encoded)} bytes are no {kind.__name__}: {exc}") from exc
    if not message.IsInitialized():
        raise FramingError(f"a {kind.__name__} lacks what it must have")
    return message


def _request_header(client_id: bytes, call_id: int, retry_count: int = -1) -> bytes:
    return pb.RpcRequestHeader(
        rpc_kind=pb.RPC_PROTOCOL_BUFFER,
        rpc_op=pb.RpcRequestHeader.FINAL_PACKET,
        call_id=call_id,
        client_id=client_id,
        retry_count=retry_count,
    ).SerializeToString()
