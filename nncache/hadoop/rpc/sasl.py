"""Authenticate with Kerberos at the start of a Hadoop RPC connection.

Sans-I/O. Source: org.apache.hadoop.security.{SaslRpcClient,SaslRpcServer} and org.apache.hadoop.ipc.Server of Hadoop
3.4.1 and 3.5.0, measured there; RFC 4752 for the last two messages, in which the two sides agree on the protection.

| by | state | content |
|---|---|---|
| client | NEGOTIATE | |
| server | NEGOTIATE | its offers; SUCCESS instead if it only has SIMPLE, and no delegation tokens |
| client | INITIATE | the chosen offer, the first token; no reply follows for SIMPLE |
| server, client | CHALLENGE, RESPONSE | tokens, until the context is complete |
| server, client | CHALLENGE, RESPONSE | the protections offered; the protection chosen; both wrapped by the context |
| server | SUCCESS | |
"""

from enum import Enum, IntFlag
from typing import Final, TypeAlias

from nncache.hadoop.errors import FramingError, KerberosError, OtherServerError, RpcLoginError
from nncache.hadoop.kerberos.advice import with_advice
from nncache.hadoop.kerberos.gss import GssContext
from nncache.hadoop.kerberos.principal import Principal, expected_server
from nncache.hadoop.rpc.handshake import SASL_AUTH_PROTOCOL, SimpleHandshake, TokenRequest
from nncache.hadoop.rpc.messages import RpcRefusal, encode_context, encode_sasl, parse_sasl
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb

_METHOD: Final = "KERBEROS"
_MECHANISM: Final = "GSSAPI"
_SIMPLE: Final = "SIMPLE"
_SIZE_BYTES: Final = 3  # the width of the maximum message size, which follows the protections
_MAX_MESSAGE_BYTES: Final = 0xFFFFFF
"""The limit that we announce for one wrapped message. Hadoop exceeds its own announcement; only frames are bounded."""


class Qop(IntFlag):
    """Protections with the numbers of RFC 4752; the names are those of `hadoop.rpc.protection`."""

    AUTHENTICATION = 1
    INTEGRITY = 2
    PRIVACY = 4


class _State(Enum):
    """The next step of the handshake."""

    OFFERS = "the offers of the server"
    OWN = "a token of our own"
    CHALLENGE = "a token of the server"
    PROTECTIONS = "the protections that the server offers"
    SUCCESS = "the server's consent"
    DONE = "nothing"


class SaslHandshake:
    """Kerberos authentication of one connection, and the protection of its later frames.

    Invariants:
        S1  It is complete only after the server has proven by its ticket that it is the expected principal, or, with
            `fallback`, after the server has said that it only has SIMPLE.
        S2  `effective_user` is sent only after S1 holds; if it is None, the principal itself is the caller.
    """

    auth_protocol = SASL_AUTH_PROTOCOL

    def __init__(
        self,
        address: str,
        client_id: bytes,
        protocol: str,
        context: GssContext,
        *,
        effective_user: str | None = None,
        server: Principal | None = None,
        fallback: SimpleHandshake | None = None,
    ) -> None:
        self._address = address  # of the server, for messages and for the host name in its principal
        self._client_id = client_id
        self._protocol = protocol
        self._context = context
        self._effective_user = effective_user  # the impersonated user, if any
        self._server = server  # the configured principal; None: the one that the server claims
        self._fallback = fallback  # for a server that only has SIMPLE; None: refuse the server
        self._state = _State.OFFERS
        self._chosen: pb.RpcSasl.Auth | None = None  # the chosen offer, until it is sent
        self._name = Principal("")  # of the server, once it is known
        self._protection: ContextProtection | None = None

    @property
    def protection(self) -> "ContextProtection | None":
        """The protection of frames once the handshake is complete; None: frames are sent unwrapped."""
        return self._protection if self._state is _State.DONE else None

    def is_complete(self) -> bool:
        """Whether calls may be sent."""
        return self._state is _State.DONE

    def begin(self) -> bytes:
        """Return the message that asks for the server's offers."""
        return encode_sasl(self._client_id, pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE))

    def receive(self, frame: bytes) -> bytes | TokenRequest:
        """Handle a message of the server: return the answer, or the request for the token that the answer needs.

        Raises:
            RpcLoginError: The server refuses, or is not the expected one.
            FramingError: The message is out of sequence.
        """
        message = parse_sasl(frame)
        if isinstance(message, RpcRefusal):
            raise RpcLoginError(
                f"{self._address} does not let this service in: {with_advice(message.message or message.class_name)}"
            )
        match self._state, message.state:
            case _State.OFFERS, pb.RpcSasl.NEGOTIATE:
                return self._choose(message)
            case _State.OFFERS, pb.RpcSasl.SUCCESS:
                return self._fall_back(b"")
            case _State.CHALLENGE, pb.RpcSasl.CHALLENGE:
                self._state = _State.OWN
                return TokenRequest(self._name, message.token)
            case _State.PROTECTIONS, pb.RpcSasl.CHALLENGE:
                return self._agree(message.token)
            case _State.SUCCESS, pb.RpcSasl.SUCCESS:
                self._state = _State.DONE
                return encode_context(self._client_id, self._effective_user, None, self._protocol)
        raise FramingError(
            f"{self._address} sends SASL state {message.state} where {self._state.value} is due"
        )

    def answer(self, token: bytes) -> bytes:
        """Return the message that carries a token; the first one also carries the chosen offer."""
        assert self._state is _State.OWN
        self._state = _State.PROTECTIONS if self._context.is_complete else _State.CHALLENGE
        if self._chosen is None:
            return self._response(token)
        message = pb.RpcSasl(state=pb.RpcSasl.INITIATE, token=token, auths=[self._chosen])
        self._chosen = None
        return encode_sasl(self._client_id, message)

    def _choose(self, offers: pb.RpcSasl) -> bytes | TokenRequest:
        for offer in offers.auths:
            if (offer.method, offer.mechanism) == (_METHOD, _MECHANISM):
                break
        else:
            for offer in offers.auths:
                if offer.method == _SIMPLE:  # of a NameNode, beside TOKEN
                    chosen = pb.RpcSasl(state=pb.RpcSasl.INITIATE, auths=[offer])
                    return self._fall_back(encode_sasl(self._client_id, chosen))
            offered = ", ".join(offer.method for offer in offers.auths) or "nothing"
            raise RpcLoginError(
                f"{self._address} does not offer Kerberos, but {offered}: is "
                "hadoop.security.authentication=kerberos set there?"
            )
        named = Principal(offer.protocol, offer.server_id)
        try:
            self._name = expected_server(self._server, self._address.rpartition(":")[0], named)
        except ValueError as exc:
            raise OtherServerError(
                f"{self._address} is not the NameNode that was expected: {exc}; see namenode_principal and the address"
            ) from exc
        offer.ClearField("challenge")
        self._chosen = offer
        self._state = _State.OWN
        return TokenRequest(self._name, None)

    def _fall_back(self, choice: bytes) -> bytes:
        if self._fallback is None:
            raise RpcLoginError(
                f"{self._address} only has SIMPLE authentication, in which anybody may claim to be the NameNode, and "
                "this service has a Kerberos principal: secure the NameNode, or remove principal, or, while the "
                "cluster is being secured, set fallback_to_simple_auth_allowed"
            )
        self._state = _State.DONE
        return choice + self._fallback.begin()

    def _agree(self, wrapped: bytes) -> bytes:
        """Choose the strongest protection that the server offers."""
        try:
            plain = self._context.unwrap(wrapped, is_encrypted=False)
            if len(plain) != 1 + _SIZE_BYTES:
                raise FramingError(f"{self._address} offers protections in {len(plain)} bytes instead of 4")
            offered = Qop(plain[0] & 7)
            chosen = next((qop for qop in reversed(Qop) if qop in offered), None)
            if chosen is None:
                raise FramingError(f"{self._address} offers no protection that is known: {plain[0]}")
            if chosen is not Qop.AUTHENTICATION:
                self._protection = ContextProtection(
                    self._address, self._client_id, self._context, encrypts=chosen is Qop.PRIVACY
                )
            size = 0 if chosen is Qop.AUTHENTICATION else _MAX_MESSAGE_BYTES
            answer = bytes((chosen,)) + size.to_bytes(_SIZE_BYTES, "big")
            self._state = _State.SUCCESS
            return self._response(self._context.wrap(answer, encrypts=False))
        except KerberosError as exc:
            raise RpcLoginError(f"{self._address}: {exc}") from exc

    def _response(self, token: bytes) -> bytes:
        return encode_sasl(self._client_id, pb.RpcSasl(state=pb.RpcSasl.RESPONSE, token=token))


class ContextProtection:
    """Integrity or privacy: the context wraps frames with their lengths, in frames of SASL state WRAP."""

    def __init__(self, address: str, client_id: bytes, context: GssContext, *, encrypts: bool) -> None:
        self._address = address
        self._client_id = client_id
        self._context = context
        self._encrypts = encrypts

    def wrap(self, frames: bytes) -> bytes:
        """Return the frame that carries these frames.

        Raises RpcLoginError: the context cannot protect them, for example because it has expired.
        """
        try:
            token = self._context.wrap(frames, encrypts=self._encrypts)
        except KerberosError as exc:
            raise RpcLoginError(f"{self._address}: {exc}") from exc
        return encode_sasl(self._client_id, pb.RpcSasl(state=pb.RpcSasl.WRAP, token=token))

    def unwrap(self, frame: bytes) -> bytes:
        """Return the payload of a frame of the server: several frames, or a part of one.

        Raises:
            RpcLoginError: The payload does not have the agreed protection.
            FramingError: The frame is not one of state WRAP.
        """
        message = parse_sasl(frame)
        if isinstance(message, RpcRefusal):
            raise FramingError(
                f"{self._address} ends the connection without protection: {message.class_name}: {message.message}"
            )
        if message.state != pb.RpcSasl.WRAP:
            raise FramingError(f"{self._address} sends SASL state {message.state} where WRAP is due")
        try:
            return self._context.unwrap(message.token, is_encrypted=self._encrypts)
        except KerberosError as exc:
            raise RpcLoginError(f"{self._address}: {exc}") from exc


Handshake: TypeAlias = SimpleHandshake | SaslHandshake
"""The handshake of one connection; every frame that arrives before it is complete belongs to it."""
