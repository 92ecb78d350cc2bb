"""Carry out calls over RPC, and make their answers.

The served calls are those that nncache makes, with the fields that it reads. Another call is refused as Hadoop refuses
an unknown one (ProtobufRpcEngine2).
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from google.protobuf.message import Message

from nncache.hadoop.errors import FramingError
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.paths import InvalidPathError
from nncache.hadoop.rpc.edits import encode_edits
from nncache.hadoop.rpc.messages import MessageT, RpcCall, parse_message
from nncache.hadoop.rpc.proto import client_namenode_pb2 as pb
from nncache.hadoop.rpc.proto import rpc_header_pb2 as header
from nncache.hadoop.rpc.proto.inotify_pb2 import XAttr
from nncache.hadoop.rpc.statuses import encode_status
from nncache.namenode.namespace import attributes, leases, reads
from nncache.namenode.namespace.attributes import XATTR_NAMESPACES
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.permissions import ALL, Caller
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.node.namenode import LIST_LIMIT, NameNodeService

CLIENT_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
NAMENODE_PROTOCOL: Final = "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol"
USER_MAPPINGS: Final = "org.apache.hadoop.tools.GetUserMappingsProtocol"

MAX_DIRECTORIES: Final = 100
"""Per call (dfs.batched.ls.limit)."""

_OVERWRITE: Final = 2  # CreateFlag
_PLACE: Final = re.compile(rb"([0-9]{1,4}) (.*)", re.DOTALL)
_XATTR_FLAGS: Final = {1: "CREATE", 2: "REPLACE"}  # XAttrSetFlag


class UnservedCallError(Exception):
    """The call is not served, or cannot be parsed."""

    def __init__(self, class_name: str, message: str, detail: int) -> None:
        super().__init__(message)
        self.class_name = class_name
        self.message = message
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The caller of a call, and the NameNode that is called."""

    namenode: NameNodeService
    namespace: Namespace
    caller: Caller
    host: str
    protocol: str  # as the call's header names it


_Answer: TypeAlias = Callable[[CallContext, bytes], Awaitable[Message]]


async def answer(asked: CallContext, call: RpcCall) -> Message:
    """Carry out a call and return its result.

    Raises:
        Refusal: the NameNode's answer is an exception.
        NotServedError: the call is not served, or cannot be parsed.
    """
    methods = SERVED.get(call.protocol)
    if methods is None:
        message = f"Unknown protocol: {call.protocol}"
        raise UnservedCallError(
            "org.apache.hadoop.ipc.RpcNoSuchProtocolException", message, header.ERROR_NO_SUCH_PROTOCOL
        )
    serve = methods.get(call.method)
    if serve is None:
        message = f"Unknown method {call.method} called on {asked.protocol} protocol."
        raise UnservedCallError(
            "org.apache.hadoop.ipc.RpcNoSuchMethodException", message, header.ERROR_NO_SUCH_METHOD
        )
    if call.protocol == CLIENT_PROTOCOL:
        await asked.namenode.check_active()
    return await serve(asked, call.body)


def _of(kind: type[MessageT], serve: Callable[[CallContext, MessageT], Awaitable[Message]]) -> _Answer:
    """Return a function that parses a request of this kind and serves it."""

    async def read_and_serve(asked: CallContext, body: bytes) -> Message:
        try:
            return await serve(asked, parse_message(kind, body))
        except FramingError as wrong:
            name = "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException"
            raise UnservedCallError(name, str(wrong), header.ERROR_APPLICATION) from wrong
        except InvalidPathError as wrong:
            raise UnservedCallError(
                "java.lang.AssertionError", str(wrong), header.ERROR_APPLICATION
            ) from wrong

    return read_and_serve


# ---- the edits -----------------------------------------------------------------------------------------------------


async def _edits(asked: CallContext, request: pb.GetEditsFromTxidRequest) -> Message:
    page = await asked.namenode.edits(asked.caller, request.txid)
    return pb.GetEditsFromTxidResponse(events_list=encode_edits(page))


async def _current_txid(asked: CallContext, _: pb.GetCurrentEditLogTxidRequest) -> Message:
    return pb.GetCurrentEditLogTxidResponse(txid=await asked.namenode.current_txid(asked.caller))


async def _roll_edits(asked: CallContext, _: pb.RollEditsRequest) -> Message:
    return pb.RollEditsResponse(new_segment_txid=await asked.namenode.roll_edits(asked.caller))


# ---- reads ---------------------------------------------------------------------------------------------------------


async def _version(asked: CallContext, _: pb.VersionRequest) -> Message:
    info = pb.NamespaceInfo(
        block_pool_id=asked.namespace.block_pool,
        storage_info=pb.StorageInfo(cluster_id=asked.namespace.cluster_id),
    )
    return pb.VersionResponse(info=info)


async def _groups(asked: CallContext, request: pb.GetGroupsForUserRequest) -> Message:
    return pb.GetGroupsForUserResponse(groups=asked.namenode.groups_of(request.user))


async def _is_file_closed(asked: CallContext, request: pb.IsFileClosedRequest) -> Message:
    return pb.IsFileClosedResponse(
        result=await asked.namenode.read(request.src, leases.is_file_closed, asked.caller)
    )


async def _file_info(asked: CallContext, request: pb.GetFileInfoRequest) -> Message:
    try:
        status = await asked.namenode.read(request.src, reads.status, asked.caller)
    except Refusal as refusal:
        if refusal.java is Java.FILE_NOT_FOUND:
            return pb.GetFileInfoResponse()
        raise
    return pb.GetFileInfoResponse(fs=encode_status(status))


async def _check_access(asked: CallContext, request: pb.CheckAccessRequest) -> Message:
    if not 0 <= request.mode <= ALL:
        raise FramingError(f"{request.mode} is no FsAction")
    await asked.namenode.read(request.path, reads.check_may, asked.caller, request.mode)
    return pb.CheckAccessResponse()


async def _xattrs(asked: CallContext, request: pb.GetXAttrsRequest) -> Message:
    names = [_full_name(each) for each in request.x_attrs]
    found = await asked.namenode.read(request.src, attributes.get_xattrs, asked.caller, names)
    reply = pb.GetXAttrsResponse()
    for name, value in found:
        space, _, rest = name.partition(".")
        reply.x_attrs.add(namespace=XATTR_NAMESPACES.index(space), name=rest.encode(), value=value)
    return reply


async def _batched_listing(asked: CallContext, request: pb.GetBatchedListingRequest) -> Message:
    """List directories until LIST_LIMIT entries are reached."""
    if len(request.paths) > MAX_DIRECTORIES:
        message = f"Too many source paths ({len(request.paths)} > {MAX_DIRECTORIES})"
        raise Refusal(Java.ILLEGAL_ARGUMENT, message)
    begin, after = _place(request.start_after, len(request.paths))
    reply = pb.GetBatchedListingResponse(has_more=False, start_after=b"")
    room = LIST_LIMIT
    for number, path in list(enumerate(request.paths))[begin:]:
        if room <= 0:
            reply.has_more, reply.start_after = True, f"{number} ".encode()
            break
        try:
            statuses, remaining = await asked.namenode.listing(asked.caller, path, after)
        except Refusal as refusal:
            reply.listings.add(parent_idx=number, exception=_listing_exception(path, refusal))
            continue
        finally:
            after = ""
        reply.listings.add(parent_idx=number, partial_listing=map(encode_status, statuses))
        room -= len(statuses)
        if remaining:
            last = statuses[-1].path_suffix
            reply.has_more, reply.start_after = True, f"{number} {last}".encode(errors="surrogateescape")
            break
    return reply


def _place(start_after: bytes, paths: int) -> tuple[int, str]:
    """Return where a listing continues: the index of a path, and the last listed name.

    Raises FramingError: `start_after` is from no reply to a call with this number of paths.
    """
    if not start_after:
        return 0, ""
    place = _PLACE.fullmatch(start_after)
    if place is None or int(place[1]) >= paths:
        raise FramingError(f"{start_after!r} is not where a listing of {paths} paths goes on")
    return int(place[1]), place[2].decode(errors="surrogateescape")


def _listing_exception(path: str, refusal: Refusal) -> pb.ListingException:
    is_missing = refusal.java is Java.FILE_NOT_FOUND
    message = f"Path {path} does not exist" if is_missing else refusal.message
    return pb.ListingException(class_name=refusal.java.value, message=message)


# ---- changes -------------------------------------------------------------------------------------------------------


async def _mkdirs(asked: CallContext, request: pb.MkdirsRequest) -> Message:
    made = await asked.namenode.mkdirs(
        asked.caller, request.src, Modes(request.masked.perm), create_parent=request.create_parent
    )
    return pb.MkdirsResponse(result=made)


async def _create(asked: CallContext, request: pb.CreateRequest) -> Message:
    file = NewFile(
        modes=Modes(request.masked.perm),
        replication=request.replication,
        block_size=request.block_size,
        overwrite=bool(request.create_flag & _OVERWRITE),
        create_parent=request.create_parent,
    )
    await asked.namenode.create(asked.caller, request.src, file, request.client_name, asked.host)
    return pb.CreateResponse()


async def _complete(asked: CallContext, request: pb.CompleteRequest) -> Message:
    done = await asked.namenode.complete(request.src, request.client_name, None, request.file_id)
    return pb.CompleteResponse(result=done)


async def _set_owner(asked: CallContext, request: pb.SetOwnerRequest) -> Message:
    owner, group = (
        getattr(request, name) if request.HasField(name) else None for name in ("username", "groupname")
    )
    await asked.namenode.change(request.src, attributes.set_owner, asked.caller, owner, group)
    return pb.SetOwnerResponse()


async def _set_xattr(asked: CallContext, request: pb.SetXAttrRequest) -> Message:
    flags = frozenset(name for bit, name in _XATTR_FLAGS.items() if request.flag & bit)
    name, value = _full_name(request.x_attr), request.x_attr.value
    await asked.namenode.change(request.src, attributes.set_xattr, asked.caller, name, value, flags)
    return pb.SetXAttrResponse()


async def _rename(asked: CallContext, request: pb.Rename2Request) -> Message:
    options = frozenset({"OVERWRITE"} if request.overwrite_dest else ())
    await asked.namenode.rename_with_options(asked.caller, request.src, request.dst, options)
    return pb.Rename2Response()


async def _delete(asked: CallContext, request: pb.DeleteRequest) -> Message:
    done = await asked.namenode.delete(asked.caller, request.src, recursive=request.recursive)
    return pb.DeleteResponse(result=done)


def _full_name(attribute: XAttr) -> str:
    return f"{XATTR_NAMESPACES[attribute.namespace]}.{attribute.name.decode(errors='replace')}"


SERVED: Final[Mapping[str, Mapping[str, _Answer]]] = {
    CLIENT_PROTOCOL: {
        "getEditsFromTxid": _of(pb.GetEditsFromTxidRequest, _edits),
        "getCurrentEditLogTxid": _of(pb.GetCurrentEditLogTxidRequest, _current_txid),
        "rollEdits": _of(pb.RollEditsRequest, _roll_edits),
        "isFileClosed": _of(pb.IsFileClosedRequest, _is_file_closed),
        "getFileInfo": _of(pb.GetFileInfoRequest, _file_info),
        "checkAccess": _of(pb.CheckAccessRequest, _check_access),
        "getXAttrs": _of(pb.GetXAttrsRequest, _xattrs),
        "getBatchedListing": _of(pb.GetBatchedListingRequest, _batched_listing),
        "mkdirs": _of(pb.MkdirsRequest, _mkdirs),
        "create": _of(pb.CreateRequest, _create),
        "complete": _of(pb.CompleteRequest, _complete),
        "setOwner": _of(pb.SetOwnerRequest, _set_owner),
        "setXAttr": _of(pb.SetXAttrRequest, _set_xattr),
        "rename2": _of(pb.Rename2Request, _rename),
        "delete": _of(pb.DeleteRequest, _delete),
    },
    NAMENODE_PROTOCOL: {"versionRequest": _of(pb.VersionRequest, _version)},
    USER_MAPPINGS: {"getGroupsForUser": _of(pb.GetGroupsForUserRequest, _groups)},
}
"""The served calls, by protocol and method."""
