"""The error tree of the room."""

from nncache.hadoop.errors import (
    RemoteCallError,
    RemoteExceptionError,
    RpcAuthenticationError,
)
from nncache.hadoop.remote_exception import RemoteException, Verdict


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
