"""Limits on the resources that clients and NameNodes may use."""

import resource
from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.rpc.callers import MAX_CALLER_CONNECTIONS
from nncache.net.setting_error import SettingError

_MIN_HEAD_BYTES = 1024
_MAX_COUNT = 2**30  # for values that the kernel takes as a C int
MAX_AWAITING_REFUSAL: Final = 64
"""Number of connections beyond `max_connections` that may be open until their refusal is sent."""

_RESERVED_FILES = 64 + MAX_AWAITING_REFUSAL + MAX_CALLER_CONNECTIONS
"""The 64 are listening sockets, other RPC and admin connections, logs, and the interpreter's own files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """Limits of connections, heads, bodies and waits.

    Raises:
        SettingError: a value is outside what its key allows.
    """

    max_connections: int = field(
        default=16_384,
        metadata={
            "help": "Maximum number of open client connections; further ones get 503, or are closed at once if there "
            "are many of them. One client address gets at most seven eighths of them; several get equal shares."
        },
    )
    backlog: int = field(
        default=4_096,
        metadata={
            "help": "Connections that the kernel may queue before they are accepted; the kernel caps this value."
        },
    )
    max_head_bytes: int = field(
        default=65_536,
        metadata={
            "help": "Maximum bytes of a request's line and header fields; a larger head gets 414 or 431. The "
            "NameNode's own limit (hadoop.http.max.request.header.size) is 65536."
        },
    )
    max_header_fields: int = field(
        default=128, metadata={"help": "Maximum number of header fields in a request; more get 431."}
    )
    head_timeout_s: float = field(
        default=10.0,
        metadata={"help": "Seconds from a head's first byte to its last; a slower one gets 408."},
    )
    idle_timeout_s: float = field(
        default=75.0,
        metadata={"help": "Seconds without a request after which a client's connection is closed."},
    )
    body_timeout_s: float = field(
        default=20.0,
        metadata={
            "help": "Total seconds for which the proxy waits for a slow body, or for a slow reader of a reply, beyond "
            "the time that min_body_rate_bytes_s allows. After that, the client gets 408, or the connection is closed."
        },
    )
    min_body_rate_bytes_s: int = field(
        default=1_024,
        metadata={"help": "Minimum average bytes a second of a body once body_timeout_s is used up."},
    )
    upstream_connections: int = field(
        default=256,
        metadata={
            "help": "Maximum number of open connections to one NameNode; further calls wait for a free one. One client "
            "address gets at most seven eighths of them; several get equal shares."
        },
    )
    max_calls: int = field(
        default=8_192,
        metadata={
            "help": "Maximum number of calls to the NameNodes in flight, including those that wait; further ones get "
            "503. One client address, and one caller, gets at most seven eighths of them; several get equal shares."
        },
    )
    max_calls_per_s_per_address: float = field(
        default=0.0,
        metadata={
            "help": "Maximum calls a second that are forwarded for one client address; further ones get 429. Answers "
            "from memory don't count. 0: no limit."
        },
    )
    max_calls_per_s_per_caller: float = field(
        default=0.0,
        metadata={"help": "The same for one caller, as named by user.name or doas. 0: no limit."},
    )
    call_burst_s: float = field(
        default=10.0,
        metadata={"help": "Burst that these limits allow after a quiet time, in seconds of their rate."},
    )
    upstream_connect_timeout_s: float = field(
        default=3.0,
        metadata={"help": "Timeout in seconds for connecting to a NameNode."},
    )
    upstream_timeout_s: float = field(
        default=60.0,
        metadata={
            "help": "Timeout in seconds for a NameNode's reply; after that, the client gets 504. A call waits as long "
            "for a free connection of upstream_connections; after that, it gets 503."
        },
    )
    upstream_idle_s: float = field(
        default=30.0,
        metadata={
            "help": "Seconds for which an idle connection to a NameNode is kept open; the NameNode itself closes it "
            "after 60."
        },
    )
    failover_wait_s: float = field(
        default=15.0,
        metadata={"help": "Seconds for which a call waits for an active NameNode; it then gets 503."},
    )
    drain_timeout_s: float = field(
        default=30.0,
        metadata={"help": "Seconds for which a stopping proxy waits for requests in progress."},
    )

    def __post_init__(self) -> None:
        for key in ("max_connections", "backlog", "max_header_fields", "upstream_connections", "max_calls"):
            if not getattr(self, key) > 0:
                raise SettingError(key, getattr(self, key), "must be more than 0")
        for key in (
            "head_timeout_s",
            "idle_timeout_s",
            "body_timeout_s",
            "min_body_rate_bytes_s",
            "upstream_connect_timeout_s",
            "upstream_timeout_s",
            "failover_wait_s",
            "drain_timeout_s",
        ):
            if not getattr(self, key) > 0:
                raise SettingError(key, getattr(self, key), "must be more than 0")
        for key in (
            "upstream_idle_s",
            "max_calls_per_s_per_address",
            "max_calls_per_s_per_caller",
            "call_burst_s",
        ):
            if not getattr(self, key) >= 0:
                raise SettingError(key, getattr(self, key), "must be 0 or more")
        if not self.max_head_bytes >= _MIN_HEAD_BYTES:
            raise SettingError(
                "max_head_bytes", self.max_head_bytes, f"must be at least {_MIN_HEAD_BYTES} bytes"
            )
        for key in ("backlog", "max_head_bytes"):
            if not getattr(self, key) <= _MAX_COUNT:
                raise SettingError(key, getattr(self, key), f"must be at most {_MAX_COUNT}")


def reserve_files(limits: LimitSettings, namenodes: int) -> None:
    """Raise the process's limit of open files to the number that all connections may need.

    Otherwise the proxy would reach the limit under peak load.

    Raises:
        SettingError: the operating system allows fewer; the message says how many.
    """
    needed = check_files(limits, namenodes)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def check_files(limits: LimitSettings, namenodes: int) -> int:
    """Return how many files all connections may need.

    Raises:
        SettingError: the process may not open that many; the message says how many it may.
    """
    needed = limits.max_connections + limits.upstream_connections * namenodes + _RESERVED_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= needed:
        return needed
    others = needed - limits.max_connections
    may_open = f"here: the process may open {hard} files (ulimit -Hn)"
    if hard <= others:
        rest = f"of which {_RESERVED_FILES} are its own"
        raise SettingError(
            "upstream_connections", limits.upstream_connections, f"must be fewer {may_open}, {rest}"
        )
    raise SettingError(
        "max_connections", limits.max_connections, f"must be at most {hard - others} {may_open}"
    )
