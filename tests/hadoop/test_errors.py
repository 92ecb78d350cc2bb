"""The error tree of the room."""

from nncache.hadoop.errors import (
    HadoopError,
    JmxUnavailableError,
    MalformedReplyError,
    RemoteCallError,
    RemoteExceptionError,
    RpcAuthenticationError,
    RpcError,
    RpcUnavailableError,
    TooManyCallersError,
    WebHdfsError,
)
from nncache.hadoop.remote_exception import RemoteException, Verdict


def test_the_tree_has_one_root() -> None:
    """A supervised loop catches the root, and with it whatever Hadoop may bring."""
    branches = (MalformedReplyError, JmxUnavailableError, RpcError, WebHdfsError)
    assert all(issubclass(kind, HadoopError) for kind in branches)
    over_rpc = (RpcUnavailableError, RemoteCallError, TooManyCallersError)
    assert all(issubclass(kind, RpcError) for kind in over_rpc)
    assert issubclass(RemoteExceptionError, WebHdfsError)


def test_an_error_says_who_refused_whom_what_and_what_to_do() -> None:
    """One line with call, address, user, the server's own words and the advice; the verdict for programs."""
    remote = RemoteException("StandbyException", "org.apache.hadoop.ipc.StandbyException", "not here")
    error = RemoteCallError(
        remote, address="h:1", method="getEditsFromTxid", user="bob", advice=" (use --user)"
    )
    assert str(error) == "getEditsFromTxid at h:1 as bob: StandbyException: not here (use --user)"
    assert error.verdict is Verdict.STANDBY
    refused = RemoteExceptionError(403, remote, call="GETFILESTATUS /w")
    assert str(refused) == "GETFILESTATUS /w: 403 StandbyException: not here"
    assert (refused.status, refused.verdict) == (403, Verdict.STANDBY)
    assert "h:1" in str(RpcAuthenticationError("h:1", "no SIMPLE"))


def test_an_unavailable_server_may_or_may_not_have_seen_the_call() -> None:
    """Only what was not sent is safe to repeat."""
    assert RpcUnavailableError("cut", is_sent=True).is_sent
    assert not RpcUnavailableError("refused", is_sent=False).is_sent
