"""The messages of a login with Kerberos, in order and out of order."""

import pytest

from nncache.hadoop.errors import FramingError, RpcLoginError
from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.rpc.framing import LENGTH_BYTES, encode_frame
from nncache.hadoop.rpc.handshake import SimpleHandshake, TokenRequest
from nncache.hadoop.rpc.messages import CONTEXT_CALL_ID, SASL_CALL_ID, encode_sasl
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from nncache.hadoop.rpc.sasl import ContextProtection, Qop, SaslHandshake
from tests.hadoop.rpc.fake_gss import FakeContext
from tests.hadoop.rpc.fake_server import Failure, failure_frame, messages

CLIENT = bytes(16)
KERBEROS = pb.RpcSasl.Auth(method="KERBEROS", mechanism="GSSAPI", protocol="nn", server_id="nn1.x")
TOKEN = pb.RpcSasl.Auth(
    method="TOKEN", mechanism="DIGEST-MD5", protocol="", server_id="default", challenge=b"realm"
)
OFFERS = pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE, auths=[TOKEN, KERBEROS])
SIMPLE = pb.RpcSasl.Auth(method="SIMPLE", mechanism="", protocol="", server_id="")
SUCCESS = pb.RpcSasl(state=pb.RpcSasl.SUCCESS)


def handshake(
    context: FakeContext | None = None,
    *,
    user: str | None = None,
    server: Principal | None = None,
    fallback: SimpleHandshake | None = None,
) -> SaslHandshake:
    """Return a handshake that has begun."""
    made = SaslHandshake(
        "nn1.x:8020",
        CLIENT,
        "some.Protocol",
        context or FakeContext(),
        effective_user=user,
        server=server,
        fallback=fallback,
    )
    header, message = messages(made.begin()[LENGTH_BYTES:])
    assert pb.RpcRequestHeader.FromString(header).call_id == SASL_CALL_ID
    assert pb.RpcSasl.FromString(message) == pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE)
    return made


def reply(message: pb.RpcSasl) -> bytes:
    """Return a server's message without its length."""
    header = pb.RpcResponseHeader(call_id=SASL_CALL_ID % 2**32, status=pb.RpcResponseHeader.SUCCESS)
    return encode_frame(header.SerializeToString(), message.SerializeToString())[LENGTH_BYTES:]


def challenge(token: bytes) -> bytes:
    """Return a challenge of the server."""
    return reply(pb.RpcSasl(state=pb.RpcSasl.CHALLENGE, token=token))


def sent(frames: bytes | TokenRequest) -> pb.RpcSasl:
    """Return the SASL message in a frame."""
    assert isinstance(frames, bytes)
    return pb.RpcSasl.FromString(messages(frames[LENGTH_BYTES:])[1])


def offered(made: SaslHandshake, context: FakeContext, mask: int) -> pb.RpcSasl:
    """Advance to the offer of these protections, and return the choice."""
    assert made.receive(reply(OFFERS)) == TokenRequest(Principal("nn", "nn1.x"), None)
    made.answer(context.step(Principal("nn"), None))
    assert made.receive(challenge(b"theirs")) == TokenRequest(Principal("nn", "nn1.x"), b"theirs")
    made.answer(context.step(Principal("nn"), b"theirs"))
    return sent(made.receive(challenge(b"S001" + bytes((mask, 0, 255, 255)))))


def test_each_message_is_sent_in_order() -> None:
    """The offer returns without its challenge and with the first token; calls may follow the context."""
    context = FakeContext()
    made = handshake(context)
    assert made.auth_protocol == 0xDF
    request = made.receive(reply(OFFERS))
    assert request == TokenRequest(Principal("nn", "nn1.x"), None)
    initiate = sent(made.answer(context.step(Principal("nn"), None)))
    assert initiate == pb.RpcSasl(state=pb.RpcSasl.INITIATE, token=b"token1", auths=[KERBEROS])
    made.receive(challenge(b"theirs"))
    response = sent(made.answer(context.step(Principal("nn"), b"theirs")))
    assert response == pb.RpcSasl(state=pb.RpcSasl.RESPONSE, token=b"")
    chosen = sent(made.receive(challenge(b"S001\x01\x00\x00\x00")))
    assert chosen == pb.RpcSasl(state=pb.RpcSasl.RESPONSE, token=b"S001\x01\x00\x00\x00")
    assert not made.is_complete()
    frames = made.receive(reply(SUCCESS))
    assert made.is_complete()
    assert made.protection is None
    assert isinstance(frames, bytes)
    header, context_message = messages(frames[LENGTH_BYTES:])
    assert pb.RpcRequestHeader.FromString(header).call_id == CONTEXT_CALL_ID
    sent_context = pb.IpcConnectionContext.FromString(context_message)
    assert sent_context.protocol == "some.Protocol"
    assert not sent_context.HasField("user_info")


def test_one_who_acts_for_a_user_names_them_at_the_end() -> None:
    """S2: after the authentication, in the connection's context."""
    context = FakeContext()
    made = handshake(context, user="alice")
    offered(made, context, 1)
    frames = made.receive(reply(SUCCESS))
    assert isinstance(frames, bytes)
    sent_context = pb.IpcConnectionContext.FromString(messages(frames[LENGTH_BYTES:])[1])
    assert sent_context.user_info == pb.UserInformation(effective_user="alice")


@pytest.mark.parametrize(
    ("mask", "chosen"),
    [
        (1, Qop.AUTHENTICATION),
        (2, Qop.INTEGRITY),
        (4, Qop.PRIVACY),
        (6, Qop.PRIVACY),
        (3, Qop.INTEGRITY),
        (7, Qop.PRIVACY),
    ],
)
def test_the_strongest_protection_is_chosen(mask: int, chosen: Qop) -> None:
    """It is one of the offered ones; without protection no message size is sent (RFC 4752 section 3.1)."""
    context = FakeContext()
    made = handshake(context)
    token = offered(made, context, mask).token
    assert token[4] == chosen
    assert (token[5:] == bytes(3)) == (chosen is Qop.AUTHENTICATION)
    assert made.protection is None  # not before the server agrees
    made.receive(reply(SUCCESS))
    assert (made.protection is None) == (chosen is Qop.AUTHENTICATION)


@pytest.mark.parametrize(
    ("token", "error", "says"),
    [
        (b"S001\x08\x00\x00\x00", FramingError, "protection"),
        (b"S001\x01", FramingError, "protection"),
        (b"S001\x01\x00\x00\x00\x00", FramingError, "protection"),
        (b"X001\x01\x00\x00\x00", RpcLoginError, r"nn1\.x:8020: it is not what the context expects"),
    ],
)
def test_protections_that_make_no_sense_end_it(token: bytes, error: type[Exception], says: str) -> None:
    """Unknown, not four bytes, or altered: the context protects them."""
    context = FakeContext(rounds=1)
    made = handshake(context)
    made.receive(reply(OFFERS))
    made.answer(context.step(Principal("nn"), None))
    with pytest.raises(error, match=says):
        made.receive(challenge(token))


def test_a_server_without_kerberos_is_refused() -> None:
    """The error names the setting that enables it."""
    made = handshake()
    with pytest.raises(RpcLoginError, match=r"does not offer Kerberos, but TOKEN: .*authentication=kerberos"):
        made.receive(reply(pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE, auths=[TOKEN])))
    with pytest.raises(RpcLoginError, match="but nothing"):
        handshake().receive(reply(pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE)))


@pytest.mark.parametrize(
    ("offers", "choice"),
    [
        (SUCCESS, b""),
        (
            pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE, auths=[TOKEN, SIMPLE]),
            encode_sasl(CLIENT, pb.RpcSasl(state=pb.RpcSasl.INITIATE, auths=[SIMPLE])),
        ),
    ],
    ids=["alone", "beside-tokens"],
)
def test_simple_authentication_is_refused_unless_allowed(offers: pb.RpcSasl, choice: bytes) -> None:
    """Any host can pose as such a server (ipc.client.fallback-to-simple-auth-allowed); a NameNode offers tokens."""
    made = handshake()
    with pytest.raises(RpcLoginError, match=r"only has SIMPLE.*fallback_to_simple_auth_allowed"):
        made.receive(reply(offers))
    assert not made.is_complete()
    fallback = SimpleHandshake(CLIENT, "svc", "some.Protocol")
    allowed = handshake(fallback=fallback)
    assert allowed.receive(reply(offers)) == choice + fallback.begin()
    assert allowed.is_complete()
    assert allowed.protection is None


def test_another_principal_than_the_configured_one_is_not_asked() -> None:
    """The check precedes the first ticket."""
    made = handshake(server=Principal("hdfs", "_HOST", "R"))
    with pytest.raises(RpcLoginError, match=r"calls itself nn/nn1\.x, and hdfs/nn1\.x@R is expected"):
        made.receive(reply(OFFERS))
    named = handshake(server=Principal("nn", "_HOST", "R"))
    assert named.receive(reply(OFFERS)) == TokenRequest(Principal("nn", "nn1.x", "R"), None)


@pytest.mark.parametrize(
    "frame",
    [
        challenge(b"early"),
        reply(pb.RpcSasl(state=pb.RpcSasl.WRAP)),
        encode_frame(
            pb.RpcResponseHeader(call_id=7, status=pb.RpcResponseHeader.SUCCESS).SerializeToString(), b""
        )[LENGTH_BYTES:],
    ],
)
def test_what_is_not_due_ends_it(frame: bytes) -> None:
    """A challenge before an offer, a later frame, or the reply to a call."""
    with pytest.raises(FramingError):
        handshake().receive(frame)


def test_success_before_the_server_has_shown_who_it_is_ends_it() -> None:
    """S1: at each step except the last."""
    context = FakeContext()
    made = handshake(context, fallback=SimpleHandshake(CLIENT, "svc", "some.Protocol"))
    made.receive(reply(OFFERS))
    with pytest.raises(FramingError, match="sends SASL state 0 where a token of our own is due"):
        made.receive(reply(SUCCESS))
    made.answer(context.step(Principal("nn"), None))
    with pytest.raises(FramingError, match="where a token of the server is due"):
        made.receive(reply(SUCCESS))
    made.receive(challenge(b"theirs"))
    made.answer(context.step(Principal("nn"), b"theirs"))
    with pytest.raises(FramingError, match="where the protections that the server offers is due"):
        made.receive(reply(SUCCESS))
    assert not made.is_complete()


def test_a_refusal_is_reported_with_advice() -> None:
    """The server's own message comes first, or else the class of its exception."""
    refusal = Failure("A.SaslException", "GSS initiate failed: Clock skew too great", is_fatal=True)
    with pytest.raises(RpcLoginError, match=r"does not let this service in: .*Clock skew.*NTP"):
        handshake().receive(failure_frame(SASL_CALL_ID, refusal)[LENGTH_BYTES:])
    with pytest.raises(RpcLoginError, match=r"in: A\.SaslException"):
        handshake().receive(failure_frame(SASL_CALL_ID, Failure("A.SaslException", ""))[LENGTH_BYTES:])


@pytest.mark.parametrize(("encrypts", "mark"), [(False, b"S"), (True, b"E")])
def test_frames_travel_under_the_context(*, encrypts: bool, mark: bytes) -> None:
    """They include their lengths, in frames of state WRAP; a frame may hold any part of them."""
    protection = ContextProtection("nn1.x:8020", CLIENT, FakeContext(), encrypts=encrypts)
    message = sent(protection.wrap(b"\0\0\0\1x\0\0\0\1y"))
    assert (message.state, message.token) == (pb.RpcSasl.WRAP, mark + b"001\0\0\0\1x\0\0\0\1y")
    assert protection.unwrap(reply(pb.RpcSasl(state=pb.RpcSasl.WRAP, token=mark + b"001\0\0"))) == b"\0\0"
    with pytest.raises(RpcLoginError, match="it is not what the context expects"):
        protection.unwrap(reply(pb.RpcSasl(state=pb.RpcSasl.WRAP, token=mark + b"001again")))
    with pytest.raises(FramingError, match="sends SASL state 0 where WRAP is due"):
        protection.unwrap(reply(SUCCESS))
    with pytest.raises(FramingError, match=r"ends the connection without protection: A\.E: no"):
        protection.unwrap(failure_frame(3, Failure("A.E", "no", is_fatal=True))[LENGTH_BYTES:])


def test_a_context_that_has_ended_protects_nothing() -> None:
    """The connection ends, and the next one has a new context."""

    class Ended(FakeContext):
        def wrap(self, data: bytes, *, encrypts: bool) -> bytes:
            del data, encrypts
            self.unwrap(b"", is_encrypted=True)
            raise AssertionError

    with pytest.raises(RpcLoginError):
        ContextProtection("nn1.x:8020", CLIENT, Ended(), encrypts=True).wrap(b"x")
