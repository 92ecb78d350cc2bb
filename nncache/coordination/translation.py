"""Translates between kazoo's values and exceptions and this room's."""

from collections.abc import Sequence
from typing import Any, assert_never

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, Id

from nncache.coordination.acl import Acl, ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import (
    BadVersionError,
    ConnectionLostError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    NotEmptyError,
    UnknownCallError,
    ZnodeError,
)
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode, ZnodeAcl, ZnodeOp

_NOT_REACHED = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)
"""ZooKeeper's results for the other operations of a refused transaction, before and after the failed one."""


def znode(path: str, reply: tuple[bytes | None, ZnodeStat]) -> Znode:
    """Return the znode in a reply to getData."""
    data, stat = reply
    return Znode(
        path=path,
        data=data or b"",  # a znode may be created without data
        version=stat.version,
        created_zxid=stat.czxid,
        children=stat.numChildren,
        owner_session=stat.ephemeralOwner,
        created_ms=stat.ctime,
        children_zxid=stat.pzxid,
    )


def znode_acl(reply: tuple[Sequence[ACL], ZnodeStat]) -> ZnodeAcl:
    """Return the ACL in a reply to getACL."""
    entries, stat = reply
    return ZnodeAcl(
        tuple(
            ZnodeAclEntry(entry.id.scheme, entry.id.id or "", ZnodePerms(entry.perms)) for entry in entries
        ),
        stat.aversion,
    )


def kazoo_acl(acl: Acl) -> list[ACL]:
    """Return an ACL in kazoo's form."""
    return [ACL(int(entry.rights), Id(entry.scheme, entry.id)) for entry in acl]


def failure(path: str, error: Exception) -> CoordinationError:
    """Return this room's error for an exception of kazoo."""
    match error:
        case kazoo_errors.NoNodeError():
            return NoNodeError(path)
        case kazoo_errors.NodeExistsError():
            return NodeExistsError(path)
        case kazoo_errors.BadVersionError():
            return BadVersionError(path)
        case kazoo_errors.NotEmptyError():
            return NotEmptyError(path)
        case kazoo_errors.NoAuthError():
            return NotAllowedError(path)
        case (
            kazoo_errors.NoChildrenForEphemeralsError()
            | kazoo_errors.QuotaExceededError()
            | kazoo_errors.BadArgumentsError()
            | kazoo_errors.MarshallingError()
        ):
            return ZnodeError(path, f"ZooKeeper refuses it ({type(error).__name__})")
        case kazoo_errors.InvalidACLError():
            return ZnodeError(
                path,
                "ZooKeeper refuses its ACL: the servers need an authProvider for each scheme in it, and must have "
                "authenticated this client (zookeeper_sasl, or zookeeper_certificate and the servers' ssl.clientAuth)",
            )
        case kazoo_errors.UnimplementedError():
            return UnknownCallError(f"{path}: the ZooKeeper server does not have this call")
        case kazoo_errors.SessionClosedRequireSaslError():
            return ConnectionLostError(f"{path}: ZooKeeper wants a login by SASL: set zookeeper_sasl")
        case _:
            return ConnectionLostError(f"{path}: {type(error).__name__}: {error}")


def begin_transaction(kazoo: KazooClient, operations: Sequence[ZnodeOp]) -> IAsyncResult:
    """Send a transaction; pass its results to `refusal`."""
    transaction = kazoo.transaction()
    for operation in operations:
        match operation:
            case CreateOp(path, data, ephemeral, acl, sequential):
                transaction.create(path, data, acl=kazoo_acl(acl), ephemeral=ephemeral, sequence=sequential)
            case SetDataOp(path, data, version):
                transaction.set_data(path, data, version)
            case DeleteOp(path, version):
                transaction.delete(path, version)
            case CheckOp(path, version):
                transaction.check(path, version)
            case _:
                assert_never(operation)
    return transaction.commit_async()


def refusal(operations: Sequence[ZnodeOp], results: Sequence[Any]) -> CoordinationError | None:
    """Return why a transaction was refused; None if it was carried out."""
    for operation, result in zip(operations, results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, _NOT_REACHED):
            return failure(operation.path, result)
    return None
