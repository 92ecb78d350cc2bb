"""Accept clients over TLS, after a handshake within its timeout and the client's share.

The event loop would start handshakes for any number of connections, and count none before its handshake ends. Here each
address has a share of the handshakes in progress, as of connections, and a handshake has the timeout of a head.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from nncache.errors import StartError
from nncache.net.balancers.balancers import Balancers
from nncache.net.balancers.listener import Listener
from nncache.net.listening import listening_socket
from nncache.net.log_throttle import ThrottledLog
from nncache.net.shares import Shares, holder_of
from nncache.tls_server.certificate import ServerCertificate

_log = logging.getLogger(__name__)

MAX_HANDSHAKES: Final = 1_024
"""Number of concurrent handshakes. One takes a millisecond of CPU, and up to head_timeout_s if the client is slow."""

MAX_UNSENT_BYTES: Final = 65_536
"""Of a reply, before it waits for its client, as without TLS; event loops would allow 512 KiB over TLS."""

LOOK_EVERY_S: Final = 10.0
"""Seconds between two checks of the certificate's files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsStats:
    """Handshakes since start, and the certificate."""

    handshakes: int = 0
    handshakes_failed: int = 0
    handshakes_refused: int = 0
    certificate_ends_at: float = 0.0
    certificate_reloads_failed: int = 0


class TlsListener:
    """A port for clients over TLS.

    Attributes:
        shutdown_timeout_s: time limit of the rest of a closed connection. By default the protocol itself ends a client
            that does not read.
    """

    def __init__(
        self,
        make_protocol: Callable[[str], asyncio.Protocol],
        certificate: ServerCertificate,
        clock: Callable[[], float],
        *,
        places: int,
        backlog: int,
        handshake_timeout_s: float,
        key: str = "tls_listen",
        balancers: Balancers | None = None,
    ) -> None:
        """Create a listener; `listen` opens its port.

        Args:
            make_protocol: returns the protocol that serves the client at an address.
            certificate: the server's certificate.
            clock: local time in seconds, to throttle warnings.
            places: maximum number of connections, and of concurrent handshakes up to `MAX_HANDSHAKES`.
            backlog: number of connections that the kernel may hold before they are accepted.
            handshake_timeout_s: maximum duration of a handshake in seconds.
            key: the setting that names the port.
            balancers: load balancers that send the PROXY protocol.
        """
        self._key = key
        self._make_protocol = make_protocol
        self._certificate = certificate
        self._backlog = backlog
        self._handshake_timeout_s = handshake_timeout_s
        self.shutdown_timeout_s = 3_600.0
        self._shares = Shares(min(MAX_HANDSHAKES, places))
        self._balancers = balancers
        self._listener: Listener | None = None
        self._throttled = ThrottledLog(_log, clock)
        self._made = 0
        self._failed = 0
        self._refused = 0

    def listen(self, host: str, port: int) -> None:
        """Start listening on an address.

        Raises:
            StartError: the address cannot be bound.
        """
        try:
            listening = listening_socket(host, port, backlog=self._backlog)
        except OSError as exc:
            raise StartError(f"{self._key}: {host}:{port}: {exc.strerror or exc}") from exc
        timeout_s, warn = self._handshake_timeout_s, self._throttled.warn
        self._listener = Listener(listening, self._balancers, self._serve, warn, timeout_s=timeout_s)

    @property
    def port(self) -> int:
        """The port that the listener uses, even if the system chose it."""
        assert self._listener is not None
        return self._listener.port

    async def run(self) -> NoReturn:
        """Accept clients until `stop`, and check the certificate's files until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self._listener is not None:
                tasks.create_task(self._listener.run())
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                self._certificate.look()

    def stop(self) -> None:
        """Stop accepting clients. Accepted clients are still served."""
        if self._listener is not None:
            self._listener.stop()

    async def _serve(self, accepted: socket.socket, client: str) -> None:
        holder = holder_of(client)
        if not self._shares.take(holder):
            self._refused += 1
            accepted.close()
            return
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._make_protocol(client),
                accepted,
                ssl=self._certificate.context,
                ssl_handshake_timeout=self._handshake_timeout_s,
                ssl_shutdown_timeout=self.shutdown_timeout_s,
            )
            transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
            self._made += 1
        except (OSError, ssl.SSLError) as error:  # whatever the client has sent, its connection is closed
            self._failed += 1
            self._throttled.warn(
                f"handshake with {holder}: {_what_to_do(error, self._certificate.files.prefix)}"
            )
        finally:
            self._shares.give_back(holder)

    def stats(self) -> TlsStats:
        """Return the figures since start."""
        return TlsStats(
            handshakes=self._made,
            handshakes_failed=self._failed,
            handshakes_refused=self._refused,
            certificate_ends_at=self._certificate.ends_at,
            certificate_reloads_failed=self._certificate.failed_reloads,
        )


def _what_to_do(error: Exception, prefix: str) -> str:
    reason = getattr(error, "reason", None) or str(error) or type(error).__name__
    match reason:
        case "HTTP_REQUEST":
            return "it speaks plain HTTP; its URL must begin with https:// (or swebhdfs://)"
        case "TLSV1_ALERT_UNKNOWN_CA" | "SSLV3_ALERT_CERTIFICATE_UNKNOWN" | "SSLV3_ALERT_BAD_CERTIFICATE":
            return f"it does not trust {prefix}certificate: give it the certificate of the authority"
        case "PEER_DID_NOT_RETURN_A_CERTIFICATE" | "CERTIFICATE_VERIFY_FAILED":
            return f"it has no certificate of an authority in {prefix}client_ca"
        case _:
            return f"{reason}"
