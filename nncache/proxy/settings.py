"""Settings of the front end."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError
from nncache.tls_server.certificate import CertificateFiles

_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Addresses, timeouts and capacities of the front end.

    Raises:
        SettingError: a value is outside what its key allows.
    """

    listen: str = field(
        default="127.0.0.1:9871",
        metadata={"help": "host:port on which WebHDFS clients are served."},
    )
    admin: str = field(
        default="127.0.0.1:9872",
        metadata={"help": "host:port of the status page, health, readiness, metrics, explain and purge."},
    )
    tls_listen: str = field(
        default="",
        metadata={
            "help": "host:port on which WebHDFS clients are served over TLS, in addition to listen. Requires "
            "tls_certificate and tls_key. Empty: no TLS."
        },
    )
    tls_certificate: str = field(
        default="",
        metadata={
            "help": "PEM file with the certificate for tls_listen, followed by its intermediate certificates. A change "
            "of this file, tls_key or tls_client_ca takes effect within 10 seconds."
        },
    )
    tls_key: str = field(
        default="", metadata={"help": "PEM file with the certificate's private key, mode 0400 or 0600."}
    )
    tls_client_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the trusted CA certificates that verify client certificates on tls_listen. Each "
            "client must then present one. Empty: clients need no certificate."
        },
    )
    lame_duck_s: float = field(
        default=0.0,
        metadata={
            "help": "Seconds for which the proxy still serves clients after SIGTERM while /ready returns 503, so that "
            "a load balancer notices before the port is closed."
        },
    )
    join_wait_s: float = field(
        default=0.1,
        metadata={"help": "Seconds for which a read may wait for the reply to another caller's request."},
    )
    namenode_query_timeout_s: float = field(
        default=1.0,
        metadata={
            "help": "Timeout in seconds of the proxy's own calls to the NameNode (isFileClosed, the last transaction "
            "id). Without an answer, the reply is not cached."
        },
    )
    two_step_query_timeout_s: float = field(
        default=10.0,
        metadata={
            "help": "Maximum seconds for which the redirect of a CREATE or APPEND waits for a slow NameNode to report "
            "what the second step can create. Without an answer, the proxy forwards reads of all paths that may be "
            "missing there until it is known; the next redirects wait only namenode_query_timeout_s, until one is "
            "answered."
        },
    )
    max_wait_s: int = field(
        default=50,
        metadata={
            "help": "Maximum seconds for which a GETFILESTATUS with `Prefer: wait` is held until its answer changes; "
            "longer waits are cut to this value. Keep it below the timeout of a gateway in front of the proxy, often "
            "60 seconds. 0: no request is held."
        },
    )
    max_waiters: int = field(
        default=16_384,
        metadata={
            "help": "Maximum number of requests held at once for `Prefer: wait`; further ones are answered at once. "
            "One client address gets at most seven eighths of them; several get equal shares. Each takes a connection "
            "of max_connections, and up to 8 KiB of memory for its head (about 4 KiB as sent); a request with a larger "
            "head is not held."
        },
    )
    max_event_streams: int = field(
        default=1_024,
        metadata={
            "help": "Maximum number of open GET /v1/events streams; further ones get 503. One client address gets at "
            "most seven eighths of them; several get equal shares. Each takes a connection of max_connections, and "
            "each filter that is followed takes up to 1 MiB. 0: no events are served."
        },
    )
    audit_share: float = field(
        default=0.0,
        metadata={
            "help": "Share, 0 to 1, of the answers from memory that the proxy compares with the NameNode's answer in "
            "the background (nncache_audit_total), at most one for each 100 calls that are forwarded anyway. 0: none."
        },
    )

    def __post_init__(self) -> None:
        parse_endpoint("listen", self.listen)
        parse_endpoint("admin", self.admin)
        if self.tls_listen:
            parse_endpoint("tls_listen", self.tls_listen)
        self._check_ports()
        for key in ("tls_certificate", "tls_key"):
            if bool(self.tls_listen) is not bool(getattr(self, key)):
                wanted = (
                    "a PEM file, since tls_listen is given" if self.tls_listen else "given with tls_listen"
                )
                raise SettingError(key, getattr(self, key), f"must be {wanted}")
        if self.tls_client_ca and not self.tls_listen:
            raise SettingError("tls_client_ca", self.tls_client_ca, "must be given with tls_listen")
        if not self.max_waiters > 0:
            raise SettingError(
                "max_waiters", self.max_waiters, "must be more than 0 (max_wait_s = 0 holds none)"
            )
        if not self.max_event_streams >= 0:
            raise SettingError("max_event_streams", self.max_event_streams, "must be 0 or more")
        for key in ("lame_duck_s", "join_wait_s", "max_wait_s"):
            if not getattr(self, key) >= 0:
                raise SettingError(key, getattr(self, key), "must be 0 seconds or more")
        if not 0 <= self.audit_share <= 1:
            raise SettingError("audit_share", self.audit_share, "must be between 0 and 1")
        for key in ("namenode_query_timeout_s", "two_step_query_timeout_s"):
            value = getattr(self, key)
            if not value > 0:
                raise SettingError(key, value, "must be more than 0 seconds")

    def _check_ports(self) -> None:
        """Refuse two addresses that would share a port."""
        keys = ("listen", "admin", *(("tls_listen",) if self.tls_listen else ()))
        for first, second in combinations(keys, 2):
            one, other = (parse_endpoint(key, getattr(self, key)) for key in (first, second))
            is_same = one.host == other.host or not _EVERYWHERE.isdisjoint({one.host, other.host})
            if one.port and one.port == other.port and is_same:
                raise SettingError(
                    second, other, f"must not be the port of {first} ({one}): give it another one"
                )

    @property
    def listen_at(self) -> ListenAddress:
        """The address on which clients are served."""
        return parse_endpoint("listen", self.listen)

    @property
    def tls_listen_at(self) -> ListenAddress | None:
        """The address on which clients are served over TLS; None: no TLS."""
        return parse_endpoint("tls_listen", self.tls_listen) if self.tls_listen else None

    @property
    def certificate(self) -> CertificateFiles | None:
        """The certificate files of `tls_listen`; None: no TLS."""
        if not self.tls_listen:
            return None
        return CertificateFiles(
            certificate=self.tls_certificate, key=self.tls_key, client_ca=self.tls_client_ca
        )

    @property
    def admin_at(self) -> ListenAddress:
        """The address of the admin pages."""
        return parse_endpoint("admin", self.admin)
