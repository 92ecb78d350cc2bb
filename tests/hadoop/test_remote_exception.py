"""RemoteExceptions and their meaning."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.errors import (
    RemoteCallError,
    RemoteExceptionError,
    RpcAuthenticationError,
)
from nncache.hadoop.remote_exception import RemoteException, Verdict, parse_remote_exception, verdict_of

STANDBY = (
    b'{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException",'
    b'"message":"Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error"}}'
)
PRETTY = b"""{
  "RemoteException" : {
    "message" : "User: bob is not allowed to impersonate alice",
    "exception" : "AuthorizationException",
    "javaClassName" : "org.apache.hadoop.security.authorize.AuthorizationException"
  }
}"""

BEHIND = (
    "Failed to obtain user group information: org.apache.hadoop.security.token.SecretManager$InvalidToken"
)


def test_both_layouts_are_read() -> None:
    """The NameNode's layout is compact; that of its authentication filter is pretty-printed, in another order."""
    standby = parse_remote_exception(STANDBY)
    assert standby is not None
    assert standby.exception == "StandbyException"
    assert standby.message.startswith("Operation category READ")
    assert standby.verdict is Verdict.STANDBY
    assert parse_remote_exception(PRETTY) == RemoteException(
        "AuthorizationException",
        "org.apache.hadoop.security.authorize.AuthorizationException",
        "User: bob is not allowed to impersonate alice",
    )


def test_an_exception_may_have_no_message_and_no_package() -> None:
    """Java's null becomes ""; without a full class name the short one decides."""
    remote = parse_remote_exception(b'{"RemoteException":{"exception":"SafeModeException","message":null}}')
    assert remote == RemoteException("SafeModeException", "", "")
    assert remote.verdict is Verdict.SAFE_MODE


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"<html>", b'{"FileStatus":{}}', b'{"RemoteException":1}', b"\xff", b'{"x":' + b"[" * 5000],
)
def test_another_body_is_none(body: bytes) -> None:
    """HTML of the servlet container and ordinary replies are no RemoteException."""
    assert parse_remote_exception(body) is None


@given(st.text(), st.text(), st.text())
def test_what_was_sent_is_what_is_read(exception: str, java_class_name: str, message: str) -> None:
    """A round trip through JSON keeps the three fields."""
    fields = {"exception": exception, "javaClassName": java_class_name, "message": message}
    body = json.dumps({"RemoteException": fields}, ensure_ascii=True)
    if any("\ud800" <= char <= "\udfff" for text in fields.values() for char in text):
        return
    assert parse_remote_exception(body.encode()) == RemoteException(exception, java_class_name, message)


@pytest.mark.parametrize(
    ("class_name", "verdict"),
    [
        ("org.apache.hadoop.ipc.StandbyException", Verdict.STANDBY),
        ("org.apache.hadoop.ipc.ObserverRetryOnActiveException", Verdict.STANDBY),
        ("org.apache.hadoop.ipc.RetriableException", Verdict.RETRIABLE),
        ("org.apache.hadoop.hdfs.server.namenode.SafeModeException", Verdict.SAFE_MODE),
        ("java.io.FileNotFoundException", Verdict.FILE_NOT_FOUND),
        ("org.apache.hadoop.security.AccessControlException", Verdict.ACCESS_CONTROL),
        ("org.apache.hadoop.security.authorize.AuthorizationException", Verdict.ACCESS_CONTROL),
        ("org.apache.hadoop.hdfs.protocol.UnresolvedPathException", Verdict.OTHER),
        ("java.lang.IllegalArgumentException", Verdict.OTHER),
        ("org.apache.hadoop.x.Outer$StandbyException", Verdict.STANDBY),
        ("MyStandbyException", Verdict.OTHER),
        ("StandbyException.", Verdict.OTHER),
        ("", Verdict.OTHER),
    ],
)
def test_a_class_name_has_a_verdict(class_name: str, verdict: Verdict) -> None:
    """The name may lack its package; a name with only the same ending is another one."""
    assert verdict_of(class_name) is verdict
    assert verdict_of(class_name.rpartition(".")[2] or class_name) is verdict


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (f"{BEHIND}: Token for real user: , can't be found in cache", Verdict.INVALID_TOKEN),
        (f"{BEHIND}: StandbyException", Verdict.STANDBY),
        (f"{BEHIND}: org.apache.hadoop.ipc.RetriableException", Verdict.RETRIABLE),
        (f"{BEHIND}: FileNotFoundException", Verdict.INVALID_TOKEN),
        ("Failed to obtain user group information: java.io.IOException", Verdict.OTHER),
    ],
)
def test_a_refused_token_says_why_in_its_message_alone(message: str, verdict: Verdict) -> None:
    """WebHDFS wraps the secret manager's error in a SecurityException, also that of a standby."""
    reported = RemoteException("SecurityException", "java.lang.SecurityException", message)
    assert reported.verdict is verdict
    other = RemoteException("AccessControlException", "o.a.h.security.AccessControlException", message)
    assert other.verdict is Verdict.ACCESS_CONTROL


def test_an_error_says_who_refused_whom_what_and_what_to_do() -> None:
    """One line with call, address, user, the server's message and the advice; programs use the verdict."""
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
