"""Call one NameNode over Hadoop RPC: one shared connection, which is opened again after it is lost."""

import asyncio
import os
from dataclasses import dataclass

from google.protobuf.message import Message

from nncache.hadoop.errors import (
    KerberosError,
    RemoteCallError,
    RpcLoginError,
    RpcUnavailableError,
    WrongAddressError,
)
from nncache.hadoop.kerberos.gss import Mechanism
from nncache.hadoop.kerberos.identity import Initiator, KerberosIdentity
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.remote_exception import RemoteException, Verdict
from nncache.hadoop.rpc.framing import MAX_FRAME_BYTES
from nncache.hadoop.rpc.handshake import SimpleHandshake
from nncache.hadoop.rpc.messages import MAX_CALL_ID, MessageT, RpcSuccess, encode_call, parse_message
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.sasl import Handshake, SaslHandshake
from nncache.hadoop.rpc.wire import Wire
from nncache.net.addresses import split_address
from nncache.net.answer_timeout import answer_timeout

CLIENT_ID_BYTES = 16

SUPERUSER_ADVICE = (
    "; this needs a superuser of HDFS, that is the user whom the NameNode runs as or a member of "
    "dfs.permissions.superusergroup: name one with --user"
)

CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
"""The protocol in a NameNode's connection context; the connection also carries calls of its other protocols."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a Hadoop protocol."""

    protocol: str  # Java class name
    name: str
    is_repeatable: bool  # idempotent: the call is retried if its connection is lost
    needs_superuser: bool = False


KDC_ANSWER_S = 3.0
"""Timeout of all KDC calls for one connection; shorter than `rpc_timeout_s`, so that errors name the KDC."""

VERSION_REQUEST = Method(
    "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol", "versionRequest", is_repeatable=True
)
"""Any user may call it, on a standby as well (NameNodeRpcServer.versionRequest; tried on 3.4.1 and 3.5.0)."""


class RpcConnection:
    """One logical connection to one address for one user, with any number of concurrent calls.

    Invariants:
        I1  There is at most one usable wire at a time. It is opened on demand.
        I2  `connection_id` differs between two replies that came over different wires.
        I3  A call that is cancelled or times out does not affect other calls.
        I4  With a `check`, a call is sent only over a wire whose namespace the check has admitted, and only while
            the HTTP address still serves that namespace.
    """

    def __init__(  # noqa: PLR0913 - keyword only
        self,
        address: str,
        user: str,
        *,
        real_user: str | None = None,
        ping_interval_s: float = 10.0,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        check: NamespaceCheck | None = None,
        identity: KerberosIdentity | None = None,
        is_impersonating: bool = False,
        protocol: str = CLIENT_PROTOCOL,
    ) -> None:
        """Connect at the first call; without a `check` any namespace is accepted.

        A server authorizes each connection once, for the `protocol` that it names (Server.authorizeConnection). The
        server's principal is checked against the configured one for a NameNode's `CLIENT_PROTOCOL` only.

        With an `identity`, its principal calls the NameNode; if `is_impersonating`, on behalf of `user` as a proxy user
        (hadoop.proxyuser.*). Otherwise `user` is sent only if the server falls back to SIMPLE authentication.
        """
        self.address = address
        self.user = user if identity is None or is_impersonating else identity.name
        self._simple_user = user
        self._identity = identity
        self._effective_user = user if is_impersonating else None
        self._real_user = real_user  # the user who impersonates `user`, if any
        self._ping_interval_s = ping_interval_s
        self._max_frame_bytes = max_frame_bytes
        self._check = check
        self._protocol = protocol
        self._client_id = os.urandom(CLIENT_ID_BYTES)
        self._wire: Wire | None = None  # the newest; perhaps not usable any more
        self._namespace: Namespace | None = None  # of that wire's server; None without a check
        self._connecting = asyncio.Lock()  # held by the call that connects
        self.connection_id = 0  # the number of connections since the start
        self.attempts = 0  # the number of attempts to connect, with those that failed
        self._failed_attempt = 0  # the number of the newest attempt that failed
        self._failure = ""  # its message; not the error itself, whose traceback refers to this object
        self._failure_kind: type[RpcUnavailableError] = RpcUnavailableError
        self._last_call_id = -1
        self._is_closed = False

    @property
    def is_login_failing(self) -> bool:
        """Whether the last attempt to connect failed because of the client's or the server's identity."""
        return self._failed_attempt == self.attempts and issubclass(self._failure_kind, RpcLoginError)

    async def call(
        self, method: Method, request: Message, result: type[MessageT], timeout_s: float
    ) -> MessageT:
        """Call a method and return its result within `timeout_s` seconds.

        A repeatable call whose connection is lost is retried once, over a new connection: a NameNode may close an
        idle connection at the very moment when it is used again.

        Raises:
            RpcUnavailableError: No connection, a lost one, or a timeout; `is_sent` says whether the call may have run.
            RemoteCallError: The NameNode answered with an exception.
            RpcError: The server refuses the connection, or does not speak Hadoop RPC.
        """
        loop = asyncio.get_running_loop()
        wire: Wire | None = None
        sent_at = loop.time()
        attempts = 2 if method.is_repeatable else 1
        try:
            async with answer_timeout(timeout_s):
                while True:
                    wire = await self._usable_wire()
                    sent_at = loop.time()
                    attempts -= 1
                    try:
                        return await self._call_over(wire, method, request, result)
                    except RpcUnavailableError:
                        if attempts == 0:
                            raise
        except TimeoutError as exc:
            if wire is None:
                raise self._no_connection(timeout_s) from exc
            if wire.heard_at < sent_at:
                # Nothing arrived at all: the peer may be dead, and TCP would retransmit for many minutes.
                wire.retire()
            text = f"{self.address}: no reply to {method.name} in {timeout_s:g} s"
            raise RpcUnavailableError(text, is_sent=True) from exc

    async def confirm_namespace(self, timeout_s: float) -> None:
        """Connect if necessary, and report to the check that the connection leads to the HTTP address's namespace.

        An open connection was compared when it was opened, and ends with the server's process. So the server is not
        asked again (docs/decisions/0012).

        Raises:
            WrongAddressError: The RPC address leads to another namespace.
            RpcUnavailableError: There is no connection within the timeout, or its namespace is unknown.
        """
        try:
            async with answer_timeout(timeout_s):
                await self._usable_wire()
        except TimeoutError as exc:
            raise self._no_connection(timeout_s) from exc
        if self._check is not None and self._namespace is not None:
            self._check.admit(self._namespace)

    async def close(self) -> None:
        """Close the connection and fail the calls in flight. Later calls fail too."""
        self._is_closed = True
        if self._wire is not None:
            self._wire.abort("by this client")
            await self._wire.wait_closed()

    def _no_connection(self, timeout_s: float) -> RpcUnavailableError:
        return RpcUnavailableError(f"{self.address}: no connection in {timeout_s:g} s", is_sent=False)

    async def _call_over(
        self, wire: Wire, method: Method, request: Message, result: type[MessageT]
    ) -> MessageT:
        call_id = self._last_call_id = (self._last_call_id + 1) & MAX_CALL_ID
        frame = encode_call(self._client_id, call_id, method.protocol, method.name, request)
        reply = await wire.call(call_id, frame)
        if isinstance(reply, RpcSuccess):
            return parse_message(result, reply.body)
        remote = RemoteException(reply.class_name.rpartition(".")[2], reply.class_name, reply.message)
        lacks_rights = method.needs_superuser and remote.verdict is Verdict.ACCESS_CONTROL
        raise RemoteCallError(
            remote,
            address=self.address,
            method=method.name,
            user=self.user,
            advice=SUPERUSER_ADVICE if lacks_rights else "",
        )

    async def _usable_wire(self) -> Wire:
        if (wire := self._admitted_wire()) is not None:
            return wire
        attempts_before = self.attempts
        async with self._connecting:
            if (wire := self._admitted_wire()) is not None:
                return wire
            if self._failed_attempt > attempts_before:
                # Another call began to connect after this call arrived, and failed: do not repeat the attempt.
                if self._failure_kind is WrongAddressError:
                    raise WrongAddressError(self._failure)
                if issubclass(self._failure_kind, RpcLoginError):
                    raise self._failure_kind(self._failure)
                raise RpcUnavailableError(self._failure, is_sent=False)
            self._wire = await self._open_wire()
            return self._wire

    def _admitted_wire(self) -> Wire | None:
        """Return the wire if calls may be sent over it. Retire a wire that leads to the wrong namespace."""
        wire = self._wire
        if wire is None or not wire.is_usable:
            return None
        if self._check is None or (self._namespace is not None and self._check.is_same(self._namespace)):
            return wire
        wire.retire()
        return None

    async def _open_wire(self) -> Wire:
        if self._is_closed:
            raise RpcUnavailableError(f"{self.address}: this client is closed", is_sent=False)
        self.attempts += 1
        host, port = split_address(self.address)
        loop = asyncio.get_running_loop()
        initiator = await self._initiator()
        try:
            _, wire = await loop.create_connection(lambda: self._new_wire(initiator), host, port)
        except OSError as exc:
            raise self._failed(
                RpcUnavailableError(f"{self.address}: cannot connect: {exc}", is_sent=False)
            ) from exc
        self.connection_id += 1
        try:
            await wire.wait_ready()
            if self._check is not None:
                self._namespace = await self._compared(wire, self._check)
        except RpcLoginError as exc:
            wire.abort("it was not ready")
            if self._identity is not None:
                self._identity.recheck()  # the server's key may have changed, and the ticket for it be outdated
            raise self._failed(exc) from None
        except BaseException:
            wire.abort("it was not ready")
            raise
        return wire

    async def _initiator(self) -> Initiator | None:
        """Return the initiator for one connection; None without an identity."""
        if self._identity is None:
            return None
        try:
            return await self._identity.initiator(Mechanism.KERBEROS, KDC_ANSWER_S)
        except KerberosError as exc:
            raise self._failed(RpcLoginError(f"{self.address}: {exc}")) from exc

    async def _compared(self, wire: Wire, check: NamespaceCheck) -> Namespace:
        """Return the namespace of a new wire's server after the check has admitted it.

        Raises RpcUnavailableError: the check has refused it, or the server does not name its namespace.
        """
        try:
            reply = await self._call_over(
                wire, VERSION_REQUEST, client.VersionRequest(), client.VersionResponse
            )
            namespace = namespace_of(reply)
            check.admit(namespace)
        except WrongAddressError as exc:
            self._failed(exc)
            raise
        except (RpcUnavailableError, RemoteCallError) as exc:
            text = f"{self.address} is not asked, as it is not known which namespace it serves: {exc}"
            raise self._failed(RpcUnavailableError(text, is_sent=False)) from exc
        return namespace

    def _failed(self, failure: RpcUnavailableError) -> RpcUnavailableError:
        """Record the failure of an attempt for the calls that wait for it, and return it."""
        self._failed_attempt = self.attempts
        self._failure = str(failure)
        self._failure_kind = type(failure)
        return failure

    def _new_wire(self, initiator: Initiator | None) -> Wire:
        simple = SimpleHandshake(self._client_id, self._simple_user, self._protocol, self._real_user)
        handshake: Handshake = simple
        if initiator is not None and self._identity is not None:
            handshake = SaslHandshake(
                self.address,
                self._client_id,
                self._protocol,
                initiator.context,
                effective_user=self._effective_user,
                server=self._identity.namenode_principal if self._protocol == CLIENT_PROTOCOL else None,
                fallback=simple if self._identity.may_fall_back else None,
            )
        return Wire(
            self.address,
            self._client_id,
            handshake,
            max_frame_bytes=self._max_frame_bytes,
            ping_interval_s=self._ping_interval_s,
            tokens=initiator,
        )


def namespace_of(reply: client.VersionResponse) -> Namespace:
    """Return the namespace in a reply to `VERSION_REQUEST`."""
    return Namespace(reply.info.storage_info.cluster_id, reply.info.block_pool_id)
