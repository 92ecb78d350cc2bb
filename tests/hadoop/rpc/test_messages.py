"""The envelopes of calls and replies."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.errors import FramingError
from nncache.hadoop.rpc.messages import (
    Context,
    Ping,
    RpcCall,
    RpcRefusal,
    RpcSuccess,
    encode_call,
    encode_context,
    encode_fatal,
    encode_ping,
    encode_refusal,
    encode_sasl,
    encode_sasl_reply,
    encode_success,
    parse_message,
    parse_reply,
    parse_request,
    parse_sasl,
)
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import inotify_pb2 as inotify
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from tests.hadoop.rpc.fake_server import Failure, failure_frame, frame_of, messages

ROOT = Path(__file__).resolve().parents[3]
CLIENT_ID = bytes(range(16))


def test_a_call_is_header_method_and_request() -> None:
    """The three messages of a call frame, as ProtobufRpcEngine2 reads them."""
    frame = encode_call(CLIENT_ID, 7, "some.Protocol", "isFileClosed", client.IsFileClosedRequest(src="/ä"))
    header, method, request = messages(frame[4:])
    assert pb.RpcRequestHeader.FromString(header) == pb.RpcRequestHeader(
        rpc_kind=pb.RPC_PROTOCOL_BUFFER,
        rpc_op=pb.RpcRequestHeader.FINAL_PACKET,
        call_id=7,
        client_id=CLIENT_ID,
        retry_count=0,
    )
    assert pb.RequestHeader.FromString(method) == pb.RequestHeader(
        method_name="isFileClosed", declaring_class_protocol_name="some.Protocol", client_protocol_version=1
    )
    assert client.IsFileClosedRequest.FromString(request).src == "/ä"


@pytest.mark.parametrize(("user", "real_user"), [("alice", None), ("alice", "proxy"), (None, None)])
def test_the_context_says_who_asks(user: str | None, real_user: str | None) -> None:
    """A real user acts for the other; without a user the field is absent, since an empty name differs."""
    header, body = messages(encode_context(CLIENT_ID, user, real_user, "some.Protocol")[4:])
    assert pb.RpcRequestHeader.FromString(header).call_id == -3
    context = pb.IpcConnectionContext.FromString(body)
    assert context.HasField("user_info") == (user is not None)
    assert context.user_info.effective_user == (user or "")
    assert context.user_info.HasField("real_user") == (real_user is not None)


def test_a_ping_is_a_header_alone() -> None:
    """Nothing follows the header of a ping."""
    (header,) = messages(encode_ping(CLIENT_ID)[4:])
    assert pb.RpcRequestHeader.FromString(header).call_id == -4


def test_a_reply_gives_its_body_or_the_exception() -> None:
    """The message of an exception comes without the stack trace, with all its lines."""
    header = pb.RpcResponseHeader(call_id=3, status=pb.RpcResponseHeader.SUCCESS).SerializeToString()
    assert parse_reply(frame_of(header, b"body")[4:]) == RpcSuccess(3, b"body")
    failure = Failure("java.io.IOException", "two\nlines")
    assert parse_reply(failure_frame(4, failure)[4:]) == RpcRefusal(
        call_id=4, is_fatal=False, detail=1, class_name="java.io.IOException", message="two\nlines"
    )


@given(st.binary(max_size=100))
def test_any_frame_is_a_message_or_an_error(frame: bytes) -> None:
    """Any bytes, also as a frame with valid lengths so that more of them reach the header, give nothing else."""
    for broken in (frame, frame_of(frame, b"")[4:]):
        with suppress(FramingError):
            assert isinstance(parse_reply(broken), RpcSuccess | RpcRefusal)
        with suppress(FramingError):
            parse_request(broken)


CALL = RpcCall(
    call_id=7,
    client_id=CLIENT_ID,
    retry_count=0,
    protocol="some.Protocol",
    method="isFileClosed",
    body=b"body",
)


def test_a_server_reads_what_a_client_writes() -> None:
    """Calls, contexts, pings and SASL."""
    request = client.IsFileClosedRequest(src="/ä")
    frame = encode_call(CLIENT_ID, 7, "some.Protocol", "isFileClosed", request)
    assert parse_request(frame[4:]) == replace(CALL, body=request.SerializeToString())
    for user, real_user in (("alice", None), ("alice", "proxy"), (None, None)):
        frame = encode_context(CLIENT_ID, user, real_user, "some.Protocol")
        assert parse_request(frame[4:]) == Context(user, real_user)
    assert parse_request(encode_ping(CLIENT_ID)[4:]) == Ping()
    sasl = pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE)
    assert parse_request(encode_sasl(CLIENT_ID, sasl)[4:]) == sasl


def test_a_client_reads_what_a_server_writes() -> None:
    """Results, exceptions with the server's detail, fatal errors, and SASL."""
    result = client.IsFileClosedResponse(result=True)
    assert parse_reply(encode_success(CALL, result)[4:]) == RpcSuccess(7, result.SerializeToString())
    refused = RpcRefusal(
        call_id=7, is_fatal=False, detail=1, class_name="java.io.IOException", message="two\nlines"
    )
    assert parse_reply(encode_refusal(CALL, refused.class_name, refused.message)[4:]) == refused
    fatal = parse_reply(encode_fatal(-3, "a.B", "no", pb.FATAL_UNAUTHORIZED)[4:])
    assert fatal == RpcRefusal(
        call_id=2**32 - 3, is_fatal=True, detail=pb.FATAL_UNAUTHORIZED, class_name="a.B", message="no"
    )
    sasl = pb.RpcSasl(state=pb.RpcSasl.SUCCESS)
    assert parse_sasl(encode_sasl_reply(sasl)[4:]) == sasl


def test_what_lacks_a_required_field_is_no_message() -> None:
    """A missing field does not mean its default: `result` of isFileClosed would mean "open"."""
    with pytest.raises(FramingError, match="lacks"):
        parse_message(client.IsFileClosedResponse, b"")
    with pytest.raises(FramingError, match="1 bytes are no"):
        parse_message(client.IsFileClosedResponse, b"\xff")


def test_a_status_that_is_not_known_is_an_error() -> None:
    """A reply of an unknown kind does not count as a success."""
    with pytest.raises(FramingError):
        parse_reply(frame_of(b"\x08\x01\x10\x09", b"")[4:])


def test_an_exception_that_is_not_text_is_still_shown() -> None:
    """Bytes that are not UTF-8 do not hide the server's message."""
    reply = parse_reply(frame_of(b"\x08\x01\x10\x01\x22\x02a\xff", b"")[4:])
    assert isinstance(reply, RpcRefusal)
    assert reply.class_name == "a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("module", [pb, inotify, client], ids=lambda module: module.DESCRIPTOR.name)
def test_the_generated_code_is_that_of_the_proto_files(module: Any) -> None:
    """After a change of a .proto run `make proto`; this test compares them without protoc, which tests do not need."""
    file = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    written = statements((ROOT / module.DESCRIPTOR.name).read_text(encoding="utf-8"))
    generated = {
        *(line for message in file.message_type for line in of_message("", message)),
        *(line for enum in file.enum_type for line in of_enum("", enum)),
    }
    assert written == generated
    assert written


STATEMENT = re.compile(
    r"(?:message|enum) (?P<scope>\w+) \{|(?P<end>\})"
    r"|(?P<label>required|optional|repeated) (?P<type>\w+) (?P<field>\w+) = (?P<number>\d+)"
    r"|(?P<value>\w+) = (?P<value_number>\d+);"
)


def statements(text: str) -> set[str]:
    """Return the fields and enum values of a .proto file, each with its scope."""
    found: set[str] = set()
    scopes: list[str] = []
    for match in STATEMENT.finditer(re.sub(r"//.*", "", text)):
        place = ".".join(scopes)
        if match["scope"]:
            scopes.append(match["scope"])
        elif match["end"]:
            scopes.pop()
        elif match["field"]:
            found.add(f"{place}: {match['label']} {match['type']} {match['field']} = {match['number']}")
        else:
            found.add(f"{place}: {match['value']} = {match['value_number']}")
    return found


def of_message(place: str, message: DescriptorProto) -> Iterator[str]:
    """Yield the same for generated code."""
    inside = f"{place}{message.name}"
    for field in message.field:
        label = FieldDescriptorProto.Label.Name(field.label).removeprefix("LABEL_").lower()
        name = field.type_name.rpartition(".")[2]
        kind = name or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        yield f"{inside}: {label} {kind} {field.name} = {field.number}"
    for inner in message.nested_type:
        yield from of_message(f"{inside}.", inner)
    for enum in message.enum_type:
        yield from of_enum(f"{inside}.", enum)


def of_enum(place: str, enum: EnumDescriptorProto) -> Iterator[str]:
    """Yield the values of an enum."""
    for value in enum.value:
        yield f"{place}{enum.name}: {value.name} = {value.number}"


def test_sasl_messages_have_a_call_id_of_their_own() -> None:
    """In both directions; the reply's is unsigned. A refusal is read as for a call; any other call id is an error."""
    message = pb.RpcSasl(state=pb.RpcSasl.CHALLENGE, token=b"t")
    header, body = messages(encode_sasl(CLIENT_ID, message)[4:])
    assert pb.RpcRequestHeader.FromString(header).call_id == -33
    assert pb.RpcSasl.FromString(body) == message
    header = pb.RpcResponseHeader(call_id=2**32 - 33, status=pb.RpcResponseHeader.SUCCESS).SerializeToString()
    assert parse_sasl(frame_of(header, body)[4:]) == message
    refusal = Failure("A.SaslException", "no", is_fatal=True, detail=pb.FATAL_UNAUTHORIZED)
    refused = parse_sasl(failure_frame(-33, refusal)[4:])
    assert isinstance(refused, RpcRefusal)
    assert (refused.is_fatal, refused.message) == (True, "no")
    other = pb.RpcResponseHeader(call_id=3, status=pb.RpcResponseHeader.SUCCESS).SerializeToString()
    with pytest.raises(FramingError, match="answers call 3 where a SASL message is due"):
        parse_sasl(frame_of(other, body)[4:])
