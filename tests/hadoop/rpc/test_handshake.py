"""How a connection identifies the caller."""

import pytest

from nncache.hadoop.rpc.handshake import SimpleHandshake
from nncache.hadoop.rpc.messages import CONTEXT_CALL_ID
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from tests.hadoop.rpc.fake_server import messages


def test_simple_says_the_name_and_waits_for_nothing() -> None:
    """One frame, the context; calls may follow in the same packet."""
    handshake = SimpleHandshake(bytes(16), "alice", "some.Protocol")
    assert handshake.auth_protocol == 0
    assert handshake.is_complete()
    header, context = messages(handshake.begin()[4:])
    assert pb.RpcRequestHeader.FromString(header).call_id == CONTEXT_CALL_ID
    assert pb.IpcConnectionContext.FromString(context).user_info.effective_user == "alice"
    assert not pb.IpcConnectionContext.FromString(context).user_info.HasField("real_user")
    assert handshake.protection is None
    with pytest.raises(AssertionError):
        handshake.receive(b"")
    with pytest.raises(AssertionError):
        handshake.answer(b"")


def test_simple_names_who_acts_for_the_user() -> None:
    """Server.Connection builds a proxy user from both, and checks that one may act for the other."""
    _, context = messages(SimpleHandshake(bytes(16), "alice", "some.Protocol", "oozie").begin()[4:])
    user = pb.IpcConnectionContext.FromString(context).user_info
    assert (user.effective_user, user.real_user) == ("alice", "oozie")
