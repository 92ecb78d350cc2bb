"""Translate kazoo's results and errors into the room's own."""

from collections.abc import Sequence

import pytest
from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient, TransactionRequest
from kazoo.protocol.serialization import CheckVersion
from kazoo.protocol.serialization import Create as KazooCreate
from kazoo.protocol.serialization import Delete as KazooDelete
from kazoo.protocol.serialization import SetData as KazooSetData
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id

from nncache.coordination.acl import OPEN_ACL, ZnodeAclEntry, ZnodePerms
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
from nncache.coordination.translation import begin_transaction, failure, kazoo_acl, refusal, znode, znode_acl
from nncache.coordination.zookeeper import (
    ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    SetDataOp,
    Znode,
    ZnodeAcl,
    ZnodeOp,
)

STAT = ZnodeStat(
    czxid=7, mzxid=8, ctime=11, mtime=0, version=3, cversion=4, aversion=5, ephemeralOwner=-9,
    dataLength=1, numChildren=2, pzxid=10,
)  # fmt: skip


@pytest.mark.parametrize(("data", "read"), [(b"x", b"x"), (b"", b""), (None, b"")])
def test_a_znode_without_data_has_empty_data(data: bytes | None, read: bytes) -> None:
    """ZooKeeper distinguishes missing from empty data; we do not."""
    assert znode("/a", (data, STAT)) == Znode(
        path="/a",
        data=read,
        version=3,
        created_zxid=7,
        children=2,
        owner_session=-9,
        created_ms=11,
        children_zxid=10,
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (kazoo_errors.NoNodeError(), NoNodeError),
        (kazoo_errors.NodeExistsError(), NodeExistsError),
        (kazoo_errors.BadVersionError(), BadVersionError),
        (kazoo_errors.NotEmptyError(), NotEmptyError),
        (kazoo_errors.NoAuthError(), NotAllowedError),
        (kazoo_errors.UnimplementedError(), UnknownCallError),
        (kazoo_errors.NoChildrenForEphemeralsError(), ZnodeError),
        (kazoo_errors.QuotaExceededError(), ZnodeError),
        (kazoo_errors.BadArgumentsError(), ZnodeError),
        (kazoo_errors.InvalidACLError(), ZnodeError),
        (kazoo_errors.ConnectionLoss(), ConnectionLostError),
        (kazoo_errors.SessionClosedRequireSaslError(), ConnectionLostError),
        (kazoo_errors.SessionExpiredError(), ConnectionLostError),
        (kazoo_errors.ConnectionClosedError(), ConnectionLostError),
        (kazoo_errors.OperationTimeoutError(), ConnectionLostError),
        (RuntimeError("Invalid error code"), ConnectionLostError),
    ],
)
def test_each_exception_is_of_one_kind(error: Exception, kind: type[CoordinationError]) -> None:
    """An error is a refusal only if nothing was changed for certain; after any other error the outcome is unknown."""
    translated = failure("/a", error)
    assert type(translated) is kind
    assert str(translated).startswith("/a: ")
    if isinstance(translated, ZnodeError):
        assert translated.path == "/a"


class Remembering(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """A client that keeps its last transaction; it is never started, and sends nothing."""

    def transaction(self) -> TransactionRequest:
        """Return a new transaction."""
        self.last = super().transaction()
        return self.last


def test_operations_are_sent_as_they_are() -> None:
    """They keep their order and versions; znodes are ephemeral only on request."""
    client = Remembering()
    reply = begin_transaction(
        client,
        [
            CreateOp("/a", b"1"),
            CreateOp("/b", b"2", ephemeral=True),
            CreateOp("/s-", b"", sequential=True),
            CreateOp("/f", b"", acl=(ZnodeAclEntry("sasl", "a", ZnodePerms.READ | ZnodePerms.WRITE),)),
            SetDataOp("/c", b"3", 4),
            DeleteOp("/d"),
            CheckOp("/e", 5),
        ],
    )
    assert client.last.operations == [
        KazooCreate("/a", b"1", OPEN_ACL_UNSAFE, 0),
        KazooCreate("/b", b"2", OPEN_ACL_UNSAFE, 1),
        KazooCreate("/s-", b"", OPEN_ACL_UNSAFE, 2),
        KazooCreate("/f", b"", [ACL(3, Id("sasl", "a"))], 0),
        KazooSetData("/c", b"3", 4),
        KazooDelete("/d", ANY_VERSION),
        CheckVersion("/e", 5),
    ]
    assert isinstance(reply.exception, kazoo_errors.ConnectionClosedError)


@pytest.mark.parametrize(
    ("results", "path"),
    [
        (["/a", True], None),
        ([kazoo_errors.RolledBackError(), kazoo_errors.BadVersionError()], "/b"),
        ([kazoo_errors.BadVersionError(), kazoo_errors.RuntimeInconsistency()], "/a"),
    ],
)
def test_the_operation_that_failed_is_named(results: Sequence[object], path: str | None) -> None:
    """ZooKeeper reports the others as rolled back or not reached."""
    operations: list[ZnodeOp] = [CreateOp("/a", b""), CheckOp("/b", 1)]
    refused = refusal(operations, results)
    assert (refused and str(refused)) == (path and str(BadVersionError(path)))


def test_an_acl_is_the_same_there_and_back() -> None:
    """The version is that of the ACL, not of the data; an id may be missing."""
    acl = (*OPEN_ACL, ZnodeAclEntry("sasl", "a", ZnodePerms.READ))
    assert znode_acl((kazoo_acl(acl), STAT)) == ZnodeAcl(acl, 5)
    assert znode_acl(([ACL(1, Id("auth", None))], STAT)).acl == (ZnodeAclEntry("auth", "", ZnodePerms.READ),)
