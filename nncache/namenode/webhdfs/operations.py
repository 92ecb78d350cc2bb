"""Carry out WebHDFS operations, and make their answers.

An unsupported operation is refused as by a NameNode that has it disabled.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Concatenate, Final, ParamSpec, TypeAlias, TypeVar
from urllib.parse import quote, quote_plus

from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.redirects import form_c
from nncache.namenode.namespace import acls, attributes, reads, snapshots
from nncache.namenode.namespace.inode import UNLIMITED, Inode
from nncache.namenode.namespace.making import Modes, is_valid
from nncache.namenode.namespace.permissions import Caller, check_superuser
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import View
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.namenode import NameNodeService
from nncache.namenode.webhdfs import json
from nncache.namenode.webhdfs.parameters import MAX_LONG, Parameters, parse_acl

_T = TypeVar("_T")
_P = ParamSpec("_P")

JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
DEFAULT_DIRECTORY_MODE: Final = 0o755
DEFAULT_FILE_MODE: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAnswer:
    """The answer to a client."""

    status: int = 200
    body: str = ""
    content_type: str | None = JSON
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRequest:
    """The request of a client, and the NameNode and DataNodes that serve it."""

    namenode: NameNodeService
    caller: Caller
    path: str  # as requested, decoded
    host: str  # the client's address
    parameters: Parameters
    datanodes: DataNodes
    namenode_rpc: str  # host:port, named in redirects
    block_pool: str

    @property
    def excluded(self) -> str | None:
        """The DataNodes to which the client must not be redirected."""
        return self.parameters.text("excludedatanodes")

    async def change(
        self,
        rule: Callable[Concatenate[View, Transaction, Caller, _P], _T | Refusal],
        *arguments: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """Have the NameNode carry out a rule about the path."""
        return await self.namenode.change(self.path, rule, self.caller, *arguments, **options)

    async def read(
        self,
        rule: Callable[Concatenate[View, Caller, _P], _T],
        *arguments: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """Have it say what a rule says of the path."""
        return await self.namenode.read(self.path, rule, self.caller, *arguments, **options)


Serve: TypeAlias = Callable[[OperationRequest], Awaitable[OperationAnswer]]

DONE: Final = OperationAnswer(content_type=BYTES)
PLAIN_DONE: Final = OperationAnswer(content_type=None)


def _json(value: json.Json) -> OperationAnswer:
    return OperationAnswer(body=json.render(value))


def _boolean(value: bool) -> OperationAnswer:  # noqa: FBT001 - the only argument
    return _json({"boolean": value})


def _done(
    rule: Callable[..., object],
    arguments: Callable[[Parameters], tuple[object, ...]] = lambda _: (),
    *required: str,
    answer: OperationAnswer = DONE,
) -> Serve:
    """Carry out a rule about the path that changes it."""

    async def serve(request: OperationRequest) -> OperationAnswer:
        request.parameters.require(*required)
        await request.change(rule, *arguments(request.parameters))
        return answer

    return serve


def _read(rule: Callable[..., _T], render: Callable[[_T], json.Json], **options: bool) -> Serve:
    """Answer what a rule says of the path."""

    async def serve(request: OperationRequest) -> OperationAnswer:
        return _json(render(await request.read(rule, **options)))

    return serve


# ---- redirects -----------------------------------------------------------------------------------------------------


def _redirect(request: OperationRequest, address: str, *names: str) -> OperationAnswer:
    """Redirect the client to a DataNode, with the parameters of these names in alphabetical order."""
    if not is_valid(request.path):
        raise Refusal(Java.INVALID_PATH, f"Invalid path name {request.path}")
    parameters = request.parameters
    query = f"op={parameters.op}"
    for name, value in (("doas", parameters.doas), ("user.name", parameters.user)):
        query += "" if value is None else f"&{name}={quote_plus(value)}"
    query += f"&namenoderpcaddress={request.namenode_rpc}"
    for name in sorted(names):
        value = _spelled(parameters, name)
        query += "" if value is None else f"&{name}={quote_plus(value)}"

    def url(path: str) -> str:
        spelled = quote(path, safe="/!$&'()*+,;=:@-._~")
        return f"http://{address}/webhdfs/v1{spelled}?{query}"

    if parameters.flag("noredirect"):
        return _json({"Location": url(request.path)})
    # Java's URI.toASCIIString normalizes the path: if its form C differs, the redirect is to another name.
    return OperationAnswer(status=307, content_type=BYTES, location=url(form_c(request.path)))


_DEFAULTS: Final[Mapping[str, str]] = {
    "offset": "0", "overwrite": "false", "createparent": "true", "createflag": "",
}  # fmt: skip


def _spelled(parameters: Parameters, name: str) -> str | None:
    value = parameters.values.get(name)
    if value is None:
        return _DEFAULTS.get(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in {"permission", "unmaskedpermission"} and isinstance(value, int):
        return f"{value:o}"
    return str(value)


async def _create(request: OperationRequest) -> OperationAnswer:
    return _redirect(
        request, await request.datanodes.for_writing(request.excluded),
        "permission", "unmaskedpermission", "overwrite", "buffersize", "replication", "blocksize", "createparent",
        "createflag",
    )  # fmt: skip


async def _append(request: OperationRequest) -> OperationAnswer:
    file = await _located(request, None)
    return _redirect(request, await _holding(request, file, -1), "buffersize")


async def _open(request: OperationRequest) -> OperationAnswer:
    offset = request.parameters.number("offset", 0)
    file = await _located(request, offset)
    return _redirect(request, await _holding(request, file, offset), "offset", "length", "buffersize")


async def _checksum(request: OperationRequest) -> OperationAnswer:
    file = await _located(request, None)
    return _redirect(request, await _holding(request, file, 0))


async def _holding(request: OperationRequest, inode: Inode, offset: int) -> str:
    """Return the address of a DataNode that holds the block at an offset (-1: the last); any for an empty file."""
    if not inode.blocks:
        return await request.datanodes.for_writing(request.excluded)
    block, at = inode.blocks[-1], 0
    for each in inode.blocks:
        if at <= offset < at + each.length:
            block = each
        at += each.length
    return await request.datanodes.for_reading(await request.namenode.holders(block), request.excluded)


async def _located(request: OperationRequest, offset: int | None) -> Inode:
    """Return the inode for the choice of a DataNode; only a file with data is checked for read permission."""
    if not is_valid(request.path):
        raise Refusal(Java.INVALID_PATH, f"Invalid path name {request.path}")
    node = await request.read(reads.found)
    if node is None:
        raise not_found(f"File {request.path} not found.")
    length = 0 if node.inode.is_directory else node.inode.length
    if offset is not None and length and offset >= length:
        op, path = request.parameters.op, request.path
        raise io_error(f"Offset={offset} out of the range [0, {length}); {op}, path={path}")
    if length:
        return await request.namenode.blocks_of(request.caller, request.path)
    return node.inode


# ---- changes -------------------------------------------------------------------------------------------------------


async def _mkdirs(request: OperationRequest) -> OperationAnswer:
    masked = request.parameters.number("permission", DEFAULT_DIRECTORY_MODE)
    modes = Modes(masked, request.parameters.optional("unmaskedpermission"))
    return _boolean(await request.namenode.mkdirs(request.caller, request.path, modes))


async def _rename(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("destination")
    destination = request.parameters.text("destination") or ""
    options = request.parameters.set_of("renameoptions")
    if not options:
        return _boolean(await request.namenode.rename(request.caller, request.path, destination))
    await request.namenode.rename_with_options(request.caller, request.path, destination, options)
    return DONE


async def _delete(request: OperationRequest) -> OperationAnswer:
    recursive = request.parameters.flag("recursive")
    return _boolean(await request.namenode.delete(request.caller, request.path, recursive=recursive))


async def _set_replication(request: OperationRequest) -> OperationAnswer:
    replication = request.parameters.number("replication", 1)
    return _boolean(await request.change(attributes.set_replication, replication))


async def _set_owner(request: OperationRequest) -> OperationAnswer:
    owner, group = request.parameters.text("owner"), request.parameters.text("group")
    if owner is None and group is None:
        raise Refusal(Java.ILLEGAL_ARGUMENT, "Both owner and group are empty.")
    await request.change(attributes.set_owner, owner, group)
    return DONE


def _change_acl(change: acls.Change, *, is_specified: bool, with_permission: bool = True) -> Serve:
    async def serve(request: OperationRequest) -> OperationAnswer:
        if is_specified:
            request.parameters.require("aclspec")
        entries = parse_acl(request.parameters.text("aclspec"), with_permission=with_permission)
        await request.change(acls.change_acl, change, entries if is_specified else ())
        return DONE

    return serve


async def _set_xattr(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("xattr.name", "flag")
    name = request.parameters.text("xattr.name") or ""
    value = json.parse_xattr_value(request.parameters.text("xattr.value"))
    flags = request.parameters.set_of("flag")
    await request.change(attributes.set_xattr, name, value, flags)
    return DONE


async def _set_storage_policy(request: OperationRequest) -> OperationAnswer:
    policy = request.parameters.text("storagepolicy")
    if policy is None:
        raise Refusal(Java.ILLEGAL_ARGUMENT, "Storage policy name is empty.")
    await request.change(attributes.set_storage_policy, policy)
    return DONE


async def _concat(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("sources")
    sources = (request.parameters.text("sources") or "").rstrip(",").split(",")  # as Java's String.split
    if sources == [""]:
        raise Refusal(Java.ILLEGAL_ARGUMENT, "No sources given")
    for path in (request.path, *sources):
        if path.startswith(("/.reserved/.inodes", "/.reserved/raw")):
            raise io_error(f"Concat operation doesn't support .reserved relative path : {path}")
    await request.namenode.concat(request.caller, request.path, sources)
    return PLAIN_DONE


async def _truncate(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("newlength")
    length = request.parameters.number("newlength", 0)
    holder = f"DFSClient_{random.randint(-(2**63), 2**63 - 1)}"  # noqa: S311 - a name, not a secret
    return _boolean(
        await request.namenode.truncate(request.caller, request.path, length, holder, request.host)
    )


# ---- reads ---------------------------------------------------------------------------------------------------------


async def _list(request: OperationRequest) -> OperationAnswer:
    return OperationAnswer(
        body=json.listing([json.lines(page) async for page in _pages(request, request.path)])
    )


async def _pages(request: OperationRequest, path: str) -> AsyncIterator[Sequence[FileStatus]]:
    """Yield a listing page by page. Between two pages others run, as between a NameNode's."""
    page, remaining = await request.namenode.listing(request.caller, path)
    while page:
        yield page
        if not remaining:
            return
        await asyncio.sleep(0)  # an embedded store never yields to the event loop
        page, remaining = await request.namenode.listing(request.caller, path, page[-1].path_suffix)


async def _list_page(request: OperationRequest) -> OperationAnswer:
    after = request.parameters.text("startafter") or ""
    statuses, remaining = await request.namenode.listing(request.caller, request.path, after)
    return _json(json.page(statuses, remaining))


async def _home(request: OperationRequest) -> OperationAnswer:
    return _json({"Path": f"/user/{request.caller.user}"})


async def _trash_root(request: OperationRequest) -> OperationAnswer:
    return await _fixed({"Path": f"/user/{request.caller.user}/.Trash"})(request)


async def _trash_roots(request: OperationRequest) -> OperationAnswer:
    """Answer where the caller's trash is, or that of all users; `hdfs dfs -expunge` asks."""
    found: list[json.Json] = []
    users = [request.caller.user]
    if request.parameters.flag("allusers"):
        users = [home.path_suffix async for page in _pages(request, "/user") for home in page]
    for user in users:
        path = f"/user/{user}/.Trash"
        with contextlib.suppress(Refusal):  # it is missing, or the caller may not see it
            status = await request.namenode.read(path, reads.status, request.caller)
            found.append(json.trash_root(path, status))
    return _json({"Paths": found or None})


async def _get_xattrs(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("encoding")
    names = [name for name in request.parameters.raw.get("xattr.name", ()) if name]
    found = await request.read(attributes.get_xattrs, names)
    return _json(json.xattrs(found, request.parameters.text("encoding") or ""))


async def _check_access(request: OperationRequest) -> OperationAnswer:
    request.parameters.require("fsaction")
    action = request.parameters.text("fsaction") or ""
    access = sum(value for value, letter in ((4, "r"), (2, "w"), (1, "x")) if letter in action)
    await request.read(reads.check_may, access)
    return PLAIN_DONE


async def _coding_policy(request: OperationRequest) -> OperationAnswer:
    await request.read(reads.check_may, 0)
    return _json(None)


async def _block_locations(request: OperationRequest) -> OperationAnswer:
    file = await request.namenode.blocks_of(request.caller, request.path)
    begin, length = request.parameters.number("offset", 0), request.parameters.number("length", MAX_LONG)
    return _json(json.block_locations(file, await _places(request, file), begin, length))


async def _located_blocks(request: OperationRequest) -> OperationAnswer:
    file = await request.namenode.blocks_of(request.caller, request.path)
    begin, length = request.parameters.number("offset", 0), request.parameters.number("length", MAX_LONG)
    return _json(json.located_blocks(file, request.block_pool, await _places(request, file), begin, length))


async def _places(request: OperationRequest, file: Inode) -> json.Places:
    """Return the addresses of the DataNodes of each block of a file."""
    holders = await request.namenode.holders_of(file.blocks)
    return {block: request.datanodes.of(names) for block, names in holders.items()}


def _fixed(value: json.Json) -> Serve:
    """Answer the same, but not as a standby."""

    async def serve(request: OperationRequest) -> OperationAnswer:
        await request.namenode.read("/", lambda _: None)
        return _json(value)

    return serve


# ---- snapshots and unsupported operations --------------------------------------------------------------------------


def _refused(java: Java, message: str, *required: str, to_all_but: str = "") -> Serve:
    """Refuse it; to others than the superuser as an operation of the name `to_all_but`, if there is one."""

    async def serve(request: OperationRequest) -> OperationAnswer:
        request.parameters.require(*required)
        if to_all_but:
            check_superuser(request.caller, to_all_but)
        raise Refusal(java, message.replace("PATH", request.path))

    return serve


def _refuse_snapshot(message: str, *required: str) -> Serve:
    async def serve(request: OperationRequest) -> OperationAnswer:
        request.parameters.require(*required)
        name = request.parameters.text(required[0]) or ""
        await request.change(snapshots.refuse_snapshot, message, name)
        return DONE

    return serve


async def _list_snapshots(request: OperationRequest) -> OperationAnswer:
    await request.read(snapshots.list_snapshots)
    return _json({"SnapshotList": []})


async def _snapshottable(request: OperationRequest) -> OperationAnswer:
    found = await request.namenode.snapshottable(request.caller)
    return _json({"SnapshottableDirectoryList": None if found is None else json.snapshottable(found)})


async def _link_target(request: OperationRequest) -> OperationAnswer:
    node = await request.read(reads.found)
    if node is None:
        raise not_found(f"File does not exist: {request.path}")
    raise io_error(f"Path {request.path} is not a symbolic link")


_NO_DIFF: Final = "The path PATH is neither snapshottable nor under a snapshot root!"
_NO_SATISFIER: Final = (
    "Cannot request to satisfy storage policy when storage policy satisfier feature has been disabled by admin. "
    "Seek for an admin help to enable it or use Mover tool."
)
_NO_CODING: Final = "Erasure coding is not supported"
_NO_TOKENS: Final = "Delegation tokens are not supported"

_STATUS: Final = _read(reads.status, lambda found: {"FileStatus": json.status(found)})

SERVED: Final[Mapping[str, Serve]] = {
    "CREATE": _create, "APPEND": _append, "OPEN": _open, "GETFILECHECKSUM": _checksum,
    "MKDIRS": _mkdirs, "RENAME": _rename, "DELETE": _delete, "CONCAT": _concat, "TRUNCATE": _truncate,
    "SETREPLICATION": _set_replication, "SETOWNER": _set_owner, "SETPERMISSION": _done(
        attributes.set_permission, lambda given: (given.number("permission", DEFAULT_DIRECTORY_MODE),)
    ),
    "SETTIMES": _done(
        attributes.set_times, lambda given: (given.number("modificationtime", -1), given.number("accesstime", -1))
    ),
    "SETQUOTA": _done(
        attributes.set_quota,
        lambda given: (given.number("namespacequota", UNLIMITED), given.number("storagespacequota", UNLIMITED)),
    ),
    "SETSTORAGEPOLICY": _set_storage_policy,
    "UNSETSTORAGEPOLICY": _done(attributes.unset_storage_policy, answer=PLAIN_DONE),
    "MODIFYACLENTRIES": _change_acl(acls.merge, is_specified=True),
    "REMOVEACLENTRIES": _change_acl(acls.remove, is_specified=True, with_permission=False),
    "SETACL": _change_acl(acls.replace, is_specified=True),
    "REMOVEDEFAULTACL": _change_acl(acls.without_default, is_specified=False),
    "REMOVEACL": _change_acl(acls.minimal, is_specified=False),
    "SETXATTR": _set_xattr,
    "REMOVEXATTR": _done(attributes.remove_xattr, lambda given: (given.text("xattr.name"),), "xattr.name"),
    "GETFILESTATUS": _STATUS, "GETFILELINKSTATUS": _STATUS,
    "LISTSTATUS": _list, "LISTSTATUS_BATCH": _list_page,
    "GETCONTENTSUMMARY": _read(reads.content_summary, json.content_summary),
    "GETQUOTAUSAGE": _read(reads.content_summary, json.quota_usage, as_usage=True),
    "GETHOMEDIRECTORY": _home,
    "GETTRASHROOT": _trash_root, "GETTRASHROOTS": _trash_roots,
    "GETACLSTATUS": _read(acls.acl_status, json.acl_status),
    "GETXATTRS": _get_xattrs,
    "LISTXATTRS": _read(attributes.get_xattrs, json.xattr_names),
    "CHECKACCESS": _check_access,
    "GETFILEBLOCKLOCATIONS": _block_locations, "GET_BLOCK_LOCATIONS": _located_blocks,
    "GETSTORAGEPOLICY": _read(reads.policy, lambda number: {"BlockStoragePolicy": json.storage_policy(number)}),
    "GETALLSTORAGEPOLICY": _fixed(json.storage_policies()),
    "GETSERVERDEFAULTS": _fixed(json.server_defaults()), "GETECPOLICY": _coding_policy,
    "GETECPOLICIES": _fixed({"ErasureCodingPolicies": {"ErasureCodingPolicyInfo": []}}),
    "GETECCODECS": _fixed({"ErasureCodingCodecs": {}}),
    "GETSNAPSHOTTABLEDIRECTORYLIST": _snapshottable,
    "GETSTATUS": _fixed({"FsStatus": {"used": 0, "remaining": 0, "capacity": 0}}),
    "GETDELEGATIONTOKEN": _fixed({"Token": None}), "GETLINKTARGET": _link_target,
    "GETSNAPSHOTDIFF": _refused(Java.SNAPSHOT, _NO_DIFF), "GETSNAPSHOTDIFFLISTING": _refused(Java.SNAPSHOT, _NO_DIFF),
    "GETSNAPSHOTLIST": _list_snapshots,
    "CREATESNAPSHOT": _done(snapshots.create_snapshot, lambda given: (given.text("snapshotname") or "",)),
    "RENAMESNAPSHOT": _refuse_snapshot(
        "The snapshot {name} does not exist for directory {path}", "oldsnapshotname", "snapshotname"
    ),
    "DELETESNAPSHOT": _refuse_snapshot(
        "Cannot delete snapshot {name} from path {path}: the snapshot does not exist.", "snapshotname"
    ),
    "ALLOWSNAPSHOT": _done(snapshots.allow), "DISALLOWSNAPSHOT": _done(snapshots.disallow),
    "CREATESYMLINK": _refused(Java.UNSUPPORTED_OPERATION, "Symlinks not supported", "destination"),
    "SATISFYSTORAGEPOLICY": _refused(Java.UNSUPPORTED_ACTION, _NO_SATISFIER),
    "ENABLEECPOLICY": _refused(
        Java.UNSUPPORTED_OPERATION, _NO_CODING, "ecpolicy", to_all_but="enableErasureCodingPolicy"
    ),
    "DISABLEECPOLICY": _refused(
        Java.UNSUPPORTED_OPERATION, _NO_CODING, "ecpolicy", to_all_but="disableErasureCodingPolicy"
    ),
    "SETECPOLICY": _refused(Java.UNSUPPORTED_OPERATION, _NO_CODING, "ecpolicy"),
    "UNSETECPOLICY": _refused(Java.UNSUPPORTED_OPERATION, _NO_CODING),
    "SETQUOTABYSTORAGETYPE": _refused(
        Java.UNSUPPORTED_ACTION, "Quotas by storage type are not supported", "storagetype", to_all_but="setSpaceQuota"
    ),
    "RENEWDELEGATIONTOKEN": _refused(Java.UNSUPPORTED_OPERATION, _NO_TOKENS, "token"),
    "CANCELDELEGATIONTOKEN": _refused(Java.UNSUPPORTED_OPERATION, _NO_TOKENS, "token"),
}  # fmt: skip
