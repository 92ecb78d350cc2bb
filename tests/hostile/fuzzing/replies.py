"""Replies of a NameNode: RPC frames, edits, JMX, statuses, exceptions."""

import asyncio
import json
from typing import Final

import uvloop

from nncache.cache.decisions import Cacheable, Denied, Failed, OpenFile, Outcome
from nncache.hadoop import jmx
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.errors import FramingError, MalformedReplyError, RpcError
from nncache.hadoop.event_json import decode_event, encode_event
from nncache.hadoop.filestatus import FileType, parse_file_status, render_missing
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.hadoop.rpc.edits import decode_edits
from nncache.hadoop.rpc.framing import FrameSplitter, encode_frame, take_message
from nncache.hadoop.rpc.handshake import SimpleHandshake
from nncache.hadoop.rpc.messages import Reply, RpcRefusal, RpcSuccess, parse_message, parse_reply
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import inotify_pb2 as inotify
from nncache.hadoop.rpc.proto import rpc_header_pb2 as header
from nncache.hadoop.rpc.wire import Wire
from nncache.proxy.decide.outcomes import outcome_of
from tests.hostile.fuzzing.target import Target, hold, text_of
from tests.hostile.fuzzing.transport import DeafTransport
from tests.proxy.doubles import reply

_MAX_FRAME: Final = 300
_LOOP: Final = uvloop.new_event_loop()


def check_frames(data: bytes) -> None:
    """Check RPC frames; the first byte sets the size of the pieces."""
    size = 1 + (data[0] if data else 0)
    stream = data[1:]
    whole = _frames([stream])
    hold(whole == _frames([stream[at : at + size] for at in range(0, len(stream), size)]), "the cuts matter")
    for frame in whole:
        if isinstance(frame, bytes):
            start, read = 0, list[bytes]()
            try:
                while start < len(frame):
                    message, end = take_message(frame, start)
                    hold(start < end <= len(frame), "a message beyond its frame")
                    read.append(message)
                    start = end
            except FramingError:
                continue
            again = FrameSplitter()
            again.receive(encode_frame(*read))
            frame_again = again.next_frame()
            hold(frame_again is not None and len(frame_again) <= len(frame), "messages do not come back")


def _frames(pieces: list[bytes]) -> list[bytes | str]:
    splitter = FrameSplitter(_MAX_FRAME)
    found: list[bytes | str] = []
    try:
        for piece in pieces:
            splitter.receive(piece)
            while (frame := splitter.next_frame()) is not None:
                hold(len(frame) <= _MAX_FRAME, "a frame larger than allowed")
                found.append(frame)
    except FramingError as error:
        found.append(str(error))
    return found


def check_reply(data: bytes) -> None:
    """Check one frame."""
    try:
        reply = parse_reply(data)
    except FramingError:
        return
    match reply:
        case RpcSuccess(body=body):
            hold(len(body) <= len(data), "a body from nowhere")
        case RpcRefusal(message=message):
            hold("\n\tat " not in message, "a stack trace in a message")


def check_edits(data: bytes) -> None:
    """Check a page of edits."""
    try:
        page = decode_edits(parse_message(inotify.EventsList, data))
    except (FramingError, MalformedReplyError):
        return
    for batch in page.batches:
        for event in batch.events:
            hold(
                decode_event(json.loads(json.dumps(encode_event(event)))) == event, "an event is lost in JSON"
            )
            hold(isinstance(changes_of_event(event), tuple), "no changes")


def check_wire(data: bytes) -> None:
    """Check input that arrives while calls 0, 1 and 2 wait; the first byte sets the size of the pieces."""
    _LOOP.run_until_complete(_talk(data[1:], 1 + (data[0] if data else 0)))


async def _talk(data: bytes, size: int) -> None:
    wire = Wire(
        "nn1:8020",
        bytes(16),
        SimpleHandshake(bytes(16), "hdfs", "p"),
        max_frame_bytes=300,
        ping_interval_s=3600,
    )
    transport = DeafTransport()
    wire.connection_made(transport)

    def feed() -> None:
        for at in range(0, len(data), size):
            if not transport.is_closing():
                wire.data_received(data[at : at + size])
        wire.connection_lost(None)

    waiting = asyncio.gather(*(wire.call(number, b"") for number in range(3)), return_exceptions=True)
    _LOOP.call_soon(feed)  # when the calls wait
    for answer in await waiting:
        hold(isinstance(answer, RpcError | Reply), f"a call ends with {answer!r}")
    hold(not wire.is_usable, "a lost connection is still used")


def check_jmx(data: bytes) -> None:
    """Check the data as each of the replies over JMX."""
    for parse in (
        jmx.parse_status,
        jmx.parse_started_ms,
        jmx.parse_last_txid,
        jmx.parse_rpc_address,
        jmx.parse_block_pool,
        jmx.parse_cluster_id,
    ):
        try:
            found = parse(data)
        except MalformedReplyError:
            continue
        hold(found != "", "an empty name")


def check_status(data: bytes) -> None:
    """Check the body of a status, and whether it may be cached."""
    try:
        status = parse_file_status(data)
    except MalformedReplyError:
        hold(_outcome(200, data, "/a") == Failed(), "kept, though it cannot be read")
        return
    outcome = _outcome(200, data, "/a")
    if status.type is FileType.SYMLINK or (status.type is FileType.DIRECTORY and status.snapshot_enabled):
        hold(isinstance(outcome, OpenFile), "kept, though no event ends it")
    hold(_outcome(201, data, "/a") == Failed(), "another status is kept")


def _outcome(status: int, body: bytes, as_requested: str) -> Outcome | None:
    return outcome_of(reply(status, body, 0.0), as_requested, None, unchanged=None)


def check_refusal(data: bytes) -> None:
    """Check the body of a refusal, and a path as it was requested."""
    remote = parse_remote_exception(data)
    if remote is not None:
        hold(isinstance(remote.verdict, Verdict), "no verdict")
    outcome = _outcome(403, data, "/a")
    hold(
        (outcome == Denied()) == (remote is not None and remote.verdict is Verdict.ACCESS_CONTROL),
        "403",
    )
    try:
        path = data.decode()
    except UnicodeDecodeError:
        return
    body = render_missing(path)
    hold(
        json.loads(body)["RemoteException"]["message"] == f"File does not exist: {path}",
        "another path is quoted",
    )
    missing = parse_remote_exception(body)
    hold(missing is not None and missing.verdict is Verdict.FILE_NOT_FOUND, "our own 404 is none")
    hold(isinstance(_outcome(404, body, path), Cacheable), "our own 404 is not kept")
    hold(_outcome(404, body, path + "x") == Failed(), "the 404 of another path is kept")
    hold(_outcome(404, data, text_of(data)) == Failed(), "any 404 is kept")


def _success(call_id: int, body: bytes) -> bytes:
    response = header.RpcResponseHeader(call_id=call_id, status=header.RpcResponseHeader.SUCCESS)
    return encode_frame(response.SerializeToString(), body)


def _failure(call_id: int, status: header.RpcResponseHeader.Status) -> bytes:
    response = header.RpcResponseHeader(
        call_id=call_id,
        status=status,
        exception_class_name=b"org.apache.hadoop.ipc.StandbyException",
        error_message=b"no\n\tat a.b.c(D.java)",
        error_detail=header.FATAL_UNAUTHORIZED,
    )
    return encode_frame(response.SerializeToString())


def _page(*events: tuple[int, bytes]) -> bytes:
    raw = [inotify.RawEvent(type=kind, contents=contents) for kind, contents in events]
    page = inotify.EventsList(first_txid=1, last_txid=2, sync_txid=2)
    page.batch.add(txid=1, events=raw)
    return page.SerializeToString()


_PERMS: Final = inotify.FsPermission(perm=0o755)
_CREATE: Final = inotify.CreateEvent(
    type=0, path=b"/a", ctime=1, owner_name=b"o", group_name=b"g", perms=_PERMS, symlink_target=b"/s"
).SerializeToString()
_METADATA: Final = inotify.MetadataUpdateEvent(path=b"/a", type=0, perms=_PERMS).SerializeToString()
_CLOSED: Final = client.IsFileClosedResponse(result=True).SerializeToString()
_STATUS: Final = (
    b'{"FileStatus":{"accessTime":0,"blockSize":1,"childrenNum":0,"fileId":1,"group":"g","length":1,'
    b'"modificationTime":1,"owner":"o","pathSuffix":"","permission":"644","replication":1,"storagePolicy":0,"type":"%b"%b}}'
)
_ERROR: Final = b'{"RemoteException":{"exception":"%b","javaClassName":"org.apache.hadoop.%b","message":%b}}'

REPLIES: Final = (
    Target(
        name="rpc-frames",
        invariant="frames and messages or FramingError, the same however the bytes are cut; no frame over the limit",
        check=check_frames,
        seeds=(
            b"\x05" + _success(1, _CLOSED) + _failure(2, header.RpcResponseHeader.ERROR),
            b"\x00\xff\xff\xff\xff",
            b"\x01HTTP/1.1 400",
            b"\x02\x00\x00\x00\x06\xff\xff\xff\xff\xff\xff",
        ),
        modules=("nncache.hadoop.rpc.framing",),
        max_bytes=700,
    ),
    Target(
        name="rpc-reply",
        invariant="a reply or FramingError; a message without the lines of a stack trace",
        check=check_reply,
        seeds=(
            _success(1, _CLOSED)[4:],
            _failure(2, header.RpcResponseHeader.ERROR)[4:],
            _failure(4294967295, header.RpcResponseHeader.FATAL)[4:],
            b"\x01\x00",
        ),
        modules=("nncache.hadoop.rpc.messages", "nncache.hadoop.rpc.framing"),
    ),
    Target(
        name="edits",
        invariant="a page or an error; each event survives JSON, and says what it makes stale",
        check=check_edits,
        seeds=(
            _page((0, _CREATE), (4, _METADATA)),
            _page((5, inotify.UnlinkEvent(path=b"/a\0b", timestamp=1).SerializeToString())),
            _page(
                (3, inotify.RenameEvent(src_path=b"/a", dest_path=b"rel", timestamp=1).SerializeToString())
            ),
            _page((1, inotify.CloseEvent(path=b"\xff", file_size=-1, timestamp=1).SerializeToString())),
            _page((9, b"")),
        ),
        modules=(
            "nncache.hadoop.rpc.edits",
            "nncache.hadoop.rpc.messages",
            "nncache.hadoop.event_json",
            "nncache.hadoop.changes",
        ),
    ),
    Target(
        name="rpc-wire",
        invariant="each call that waits ends with a reply or an RpcError; a lost connection is not used again",
        check=check_wire,
        seeds=(
            b"\x03" + _success(1, _CLOSED) + _failure(0, header.RpcResponseHeader.ERROR) + _success(2, b""),
            b"\xff" + _failure(4294967295, header.RpcResponseHeader.FATAL),
            b"\x00" + _success(7, _CLOSED) + b"HTTP/1.1 400 Bad Request\r\n",
        ),
        modules=("nncache.hadoop.rpc.wire", "nncache.hadoop.rpc.messages", "nncache.hadoop.rpc.framing"),
        max_bytes=700,
        short_executions=500,
    ),
    Target(
        name="jmx",
        invariant="what was asked for, or MalformedReplyError",
        check=check_jmx,
        seeds=(
            b'{"beans":[{"State":"active","LastHATransitionTime":1}]}',
            b'{"beans":[{"NNStartedTimeInMillis":1795298171446}]}',
            b'{"beans":[{"BlockPoolId":"BP-1-127.0.0.1-2"}]}',
            b'{"beans":[{"ClusterId":"CID-1","HostAndPort":"nn1:8020"}]}',
            b'{"beans":[{"JournalTransactionInfo":"{\\"LastAppliedOrWrittenTxId\\":\\"12\\"}"}]}',
            b'{"beans":[{"JournalTransactionInfo":"{\\"LastAppliedOrWrittenTxId\\":\\"'
            + b"9" * 4400
            + b'\\"}"}]}',
            b'{"beans":[{"x":' + b"[" * 3000,
            b'{"beans":[{"JournalTransactionInfo":"' + b"[" * 3000 + b'"}]}',
            b'{"x":' + b'{"a":' * 1500,
        ),
        modules=("nncache.hadoop.jmx",),
        max_bytes=8192,
        short_executions=800,
    ),
    Target(
        name="file-status",
        invariant="a status or MalformedReplyError; what no event ends is never kept",
        check=check_status,
        seeds=(
            _STATUS % (b"FILE", b""),
            _STATUS % (b"DIRECTORY", b',"snapshotEnabled":true'),
            _STATUS % (b"SYMLINK", b',"symlink":"/x"'),
            _STATUS
            % (
                b"FILE",
                (
                    b',"ecPolicyObj":{"name":"n","cellSize":1,"numDataUnits":1,"numParityUnits":1,'
                    b'"codecName":"c","id":1,"extraOptions":{"a":"b"}}'
                ),
            ),
            _STATUS % (b"FILE", b',"x":' + b"[" * 2000),
        ),
        modules=("nncache.hadoop.filestatus", "nncache.proxy.decide.outcomes"),
        max_bytes=4096,
    ),
    Target(
        name="remote-exception",
        invariant="an exception or none; a refusal is one for lack of rights only if it says so; a 404 is rendered so "
        "that it quotes its path and no other",
        check=check_refusal,
        seeds=(
            _ERROR % (b"StandbyException", b"ipc.StandbyException", b'"no"'),
            _ERROR % (b"AccessControlException", b"security.AccessControlException", b"null"),
            _ERROR % (b"x$y", b"ipc.RetriableException", b'"\\ud800"'),
            b'/a\\"\x01\x7f\xc2\x85\xf0\x9f\x98\x80',
            b'{"x":' + b"[" * 3000,
        ),
        modules=(
            "nncache.hadoop.remote_exception",
            "nncache.hadoop.filestatus",
            "nncache.proxy.decide.outcomes",
        ),
        max_bytes=4096,
    ),
)
