"""Valid and invalid RPC calls, and the outcome of each, for comparing two servers."""

import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import Message

from nncache.hadoop.rpc.framing import FrameSplitter, encode_preamble
from nncache.hadoop.rpc.messages import (
    Reply,
    RpcRefusal,
    RpcSuccess,
    encode_call,
    encode_context,
    encode_ping,
    parse_message,
    parse_reply,
)
from nncache.hadoop.rpc.proto import client_namenode_pb2 as pb
from tests.namenode.asking import call

TIMEOUT_S = 20.0
CLIENT_ID = uuid.uuid4().bytes
CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
NAMENODE = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
USER_MAPPINGS = "org.apache.hadoop.tools.GetUserMappingsProtocol"
ALICE = encode_context(CLIENT_ID, "alice", None, CLIENT)
BEGIN = encode_preamble(0)
INFO = encode_call(CLIENT_ID, 0, CLIENT, "getFileInfo", pb.GetFileInfoRequest(src="/nowhere"))


@dataclass(frozen=True)
class Exchange:
    """The bytes that a client sends, and the response's message type if the call succeeds."""

    name: str
    sent: bytes
    kind: type[Message] = pb.GetFileInfoResponse


def lay_out(http: str, superuser: str, root: str) -> None:
    """Create the files and directories that the calls name."""
    call(http, "PUT", f"{root}/open", "MKDIRS", superuser, permission="777")
    call(http, "PUT", f"{root}/closed/in", "MKDIRS", superuser)
    call(http, "PUT", f"{root}/closed", "SETPERMISSION", superuser, permission="700")
    call(http, "PUT", f"{root}/open/f", "CREATE", superuser, b"12345", permission="644")
    call(http, "PUT", f"{root}/open/f", "MODIFYACLENTRIES", superuser, aclspec="user:bob:rwx")


def exchanges(root: str) -> Iterator[Exchange]:
    """Yield the exchanges."""
    f = f"{root}/open/f"
    xattr = {"x_attr": {"namespace": 0, "name": b"x", "value": b"1"}}
    for number, (method, request) in enumerate(
        (
            ("isFileClosed", pb.IsFileClosedRequest(src=f)),
            ("isFileClosed", pb.IsFileClosedRequest(src=root)),
            ("isFileClosed", pb.IsFileClosedRequest(src=f"{root}/none")),
            ("isFileClosed", pb.IsFileClosedRequest(src=f"{root}/closed/in/x")),
            ("getFileInfo", pb.GetFileInfoRequest(src=f)),
            ("getFileInfo", pb.GetFileInfoRequest(src=f"{root}/none")),
            ("getFileInfo", pb.GetFileInfoRequest(src=f"{f}/below")),
            ("getFileInfo", pb.GetFileInfoRequest(src=f"{root}/closed/in")),
            ("checkAccess", pb.CheckAccessRequest(path=f, mode=4)),
            ("checkAccess", pb.CheckAccessRequest(path=f, mode=2)),
            ("checkAccess", pb.CheckAccessRequest(path=f"{root}/none", mode=2)),
            ("getEditsFromTxid", pb.GetEditsFromTxidRequest(txid=1)),
            ("getCurrentEditLogTxid", pb.GetCurrentEditLogTxidRequest()),
            ("rollEdits", pb.RollEditsRequest()),
            ("mkdirs", pb.MkdirsRequest(src=f"{root}/closed/x", masked={"perm": 0o755}, create_parent=True)),
            ("mkdirs", pb.MkdirsRequest(src=f"{root}/open/made", masked={"perm": 0o750}, create_parent=True)),
            ("setOwner", pb.SetOwnerRequest(src=f"{root}/open/made", username="bob")),
            ("setOwner", pb.SetOwnerRequest(src=f"{root}/open/made", groupname="users")),
            ("setXAttr", pb.SetXAttrRequest(src=f"{root}/open/made", flag=2, **xattr)),
            ("setXAttr", pb.SetXAttrRequest(src=f"{root}/open/made", flag=3, **xattr)),
            ("getXAttrs", pb.GetXAttrsRequest(src=f"{root}/open/made")),
            ("rename2", pb.Rename2Request(src=f"{root}/open/made", dst=f, overwrite_dest=True)),
            ("rename2", pb.Rename2Request(src=f"{root}/none", dst=f"{root}/open/x", overwrite_dest=False)),
            ("delete", pb.DeleteRequest(src=f"{root}/closed/in", recursive=True)),
            ("delete", pb.DeleteRequest(src=f"{root}/open/made", recursive=False)),
            ("delete", pb.DeleteRequest(src=f"{root}/open/made", recursive=False)),
            ("complete", pb.CompleteRequest(src=f, client_name="another")),
            (
                "getBatchedListing",
                pb.GetBatchedListingRequest(
                    paths=[f"{root}/closed", f"{root}/none", f"{root}/open", f],
                    start_after=b"",
                    need_location=False,
                ),
            ),
            (
                "getBatchedListing",
                pb.GetBatchedListingRequest(paths=["/"] * 101, start_after=b"", need_location=False),
            ),
            *(
                (
                    "getBatchedListing",
                    pb.GetBatchedListingRequest(paths=["/"], start_after=odd, need_location=False),
                )
                for odd in (b"odd", b"-1 x", b"7 x", b"\xff")
            ),
            (
                "setXAttr",
                pb.SetXAttrRequest(src=f, flag=2, x_attr={"namespace": 0, "name": b"\xff", "value": b"1"}),
            ),
            ("getXAttrs", pb.GetXAttrsRequest(src=f, x_attrs=[{"namespace": 0, "name": b"\xff"}])),
            ("setOwner", pb.SetOwnerRequest(src=f)),
            (
                "mkdirs",
                pb.MkdirsRequest(src=f"{root}/open/wide", masked={"perm": 0xFFFFFFFF}, create_parent=True),
            ),
            (
                "mkdirs",
                pb.MkdirsRequest(src=f"{root}/open/alone/x", masked={"perm": 0o755}, create_parent=False),
            ),
            ("getEditsFromTxid", pb.GetEditsFromTxidRequest(txid=-5)),
            ("getFileInfo", pb.VersionRequest()),
            ("noSuchMethod", pb.VersionRequest()),
        )
    ):
        kind: type[Message] = getattr(pb, f"{method[0].upper()}{method[1:]}Response", pb.VersionResponse)
        yield Exchange(f"{method} {request}", BEGIN + ALICE + _call(CLIENT, method, request, number), kind)
    for name, sent in (
        ("another protocol", ALICE + _call("org.x.Y", "getFileInfo", pb.VersionRequest())),
        ("ping", ALICE + encode_ping(CLIENT_ID) + INFO),
        ("without a context", INFO),
        ("two contexts", ALICE + ALICE + INFO),
        ("no right to act for others", encode_context(CLIENT_ID, "alice", "bob", CLIENT) + INFO),
    ):
        yield Exchange(name, BEGIN + sent)
    for user in ("bob", "no-such-user"):
        groups = _call(USER_MAPPINGS, "getGroupsForUser", pb.GetGroupsForUserRequest(user=user))
        yield Exchange(f"groups of {user}", BEGIN + ALICE + groups, pb.GetGroupsForUserResponse)
    yield Exchange("an unknown authentication", encode_preamble(7) + ALICE + INFO)
    yield Exchange("HTTP", b"GET / HTTP/1.1\r\n\r\n")


def _call(protocol: str, method: str, request: Message, number: int = 0) -> bytes:
    """Encode a call. HDFS answers a repeated call id from its RetryCache."""
    return encode_call(CLIENT_ID, number, protocol, method, request)


def ask(rpc: str, exchange: Exchange) -> str:
    """Send the bytes; return the first response, without ids, times and fields that nncache does not read."""
    host, _, port = rpc.rpartition(":")
    splitter, raw = FrameSplitter(), b""
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        connection.sendall(exchange.sent)
        while data := connection.recv(65_536):
            raw += data
            if raw.startswith(b"HTTP"):
                continue
            splitter.receive(data)
            if (frame := splitter.next_frame()) is not None:
                return _comparable(parse_reply(frame), exchange.kind)
    return str(raw)


def _comparable(reply: Reply, kind: type[Message]) -> str:
    match reply:
        case RpcRefusal(class_name=name) if ".InvalidProtocolBufferException" in name:
            return name.partition("$")[0]  # protobuf's own error text differs
        case RpcRefusal():
            return str(reply)
        case RpcSuccess(_, body):
            return str(_without_ids(parse_message(kind, body)))


def _without_ids(message: Message) -> Message:
    message.DiscardUnknownFields()
    if isinstance(message, pb.HdfsFileStatus):
        message.modification_time = message.access_time = message.file_id = 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                _without_ids(each)
    return message
