"""No stream begins before both addresses of the active NameNode are known to serve one namespace."""

import pytest

from nncache.hadoop.election_view import HaState
from nncache.hadoop.errors import (
    HadoopError,
    MalformedReplyError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcUnavailableError,
    WrongAddressError,
)
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    NotPermittedError,
    UnreadableEditsError,
    WrongNamespaceError,
)
from nncache.invalidation.same_namespace import check_same_namespace, unavailable
from tests.invalidation.fakes import (
    ACCESS_CONTROL,
    IO,
    NAMESPACE,
    STANDBY,
    FakeNameNode,
    FakePool,
    remote_error,
)
from tests.invalidation.virtual_time import clock

THEIRS = Namespace("CID-2", "BP-2")


def elsewhere() -> FakeNameNode:
    """Return a NameNode of another cluster."""
    other = FakeNameNode("other")
    other.namespace = THEIRS
    return other


async def see(*namenodes: FakeNameNode) -> Namespace:
    """Compare the namespaces of the first NameNode's addresses."""
    pool = FakePool(clock, *namenodes)
    return await check_same_namespace(pool, await pool.wait_active(1.0))


async def test_the_namespace_of_both_addresses() -> None:
    """The publisher writes it to ZooKeeper, and a proxy compares its own with it."""
    assert await see(FakeNameNode()) == NAMESPACE


async def test_who_is_not_let_in_needs_an_administrator() -> None:
    """Kerberos: a retry does not help. The publisher reports it, and lets other publishers try."""
    namenode = FakeNameNode()
    namenode.connection_refusal = RpcAuthenticationError("nn:8020", "KERBEROS")
    with pytest.raises(NotPermittedError, match="nn:8020 refuses the connection: KERBEROS"):
        await see(namenode)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (remote_error(ACCESS_CONTROL), NotPermittedError),
        (RpcAuthenticationError("nn:8020", "no"), NotPermittedError),
        (WrongAddressError("two"), WrongNamespaceError),
        (RpcUnavailableError("cut", is_sent=True), ChannelUnavailableError),
        (remote_error(STANDBY), ChannelUnavailableError),
        (remote_error(IO), UnreadableEditsError),
        (MalformedReplyError("?"), UnreadableEditsError),
    ],
)
def test_an_error_says_who_can_help(error: HadoopError, kind: type[ChannelUnavailableError]) -> None:
    """The message is reworded only for a standby."""
    translated = unavailable(error)
    assert type(translated) is kind
    is_reworded = isinstance(error, RemoteCallError) and error.verdict is Verdict.STANDBY
    assert (str(translated) == str(error)) is not is_reworded


async def test_another_one_over_rpc() -> None:
    """Bounded: the error names both namespaces and the setting to change."""
    namenode = FakeNameNode()
    namenode.rpc_leads_to = elsewhere()
    with pytest.raises(WrongNamespaceError, match=r"BP-2 of cluster CID-2.*--namenode-rpc"):
        await see(namenode)


async def test_another_one_at_another_namenode() -> None:
    """The settings mix the NameNodes of two clusters."""
    standby = elsewhere()
    standby.state = HaState.STANDBY
    with pytest.raises(WrongNamespaceError, match=r"other:9870 serves namespace BP-2.*--namenode-http"):
        await see(FakeNameNode(), standby)


async def test_none() -> None:
    """The namespace is unknown, or cannot be read, for now: a later attempt may succeed."""
    silent, cut_off = FakeNameNode(), FakeNameNode()
    silent.names_namespace = False
    with pytest.raises(ChannelUnavailableError, match="does not say which namespace") as caught:
        await see(silent)
    cut_off.is_reachable = False
    with pytest.raises(ChannelUnavailableError, match="cannot connect") as caught:
        await see(cut_off)
    assert not isinstance(caught.value, WrongNamespaceError)


def test_an_rpc_standby_is_reported_as_a_wrong_order() -> None:
    """Hadoop's own message speaks of read and write operations, not of a setting."""
    text = str(unavailable(remote_error(STANDBY)))
    assert "says over RPC that it is standby, and over HTTP that it is active" in text
    assert "--namenode-http and --namenode-rpc do not name the NameNodes in the same order" in text
    assert "StandbyException" not in text
