"""The results of a run: the figures of each mode."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

SCHEDULE_S: Final = 0.05  # the lateness (p99, s) up to which a generator keeps its schedule


class Mode(StrEnum):
    """The server that the pollers ask."""

    DIRECT = "direct"  # the NameNode itself
    NNCACHE = "nncache"
    WAITING = "waiting"  # nncache, with clients that wait for a new answer instead of polling
    NGINX = "nginx"  # proxy_cache with a time limit
    UNPOLLED = "unpolled"  # none: the NameNode's load from the changes and its own work


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Quantiles of a distribution of times, from an HDR histogram with three significant digits; all in seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    cdf: tuple[tuple[float, float], ...] = ()
    """(value, share of all values up to it), for a chart; at most a few hundred points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """One read that does not match the path's state at any allowed time."""

    poller: int
    path_id: int
    sent_s: float
    replied_s: float
    status: int
    served: str
    # how long its answer had been outdated when the read was sent; None if the answer was never true
    age_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersFigures:
    """The times of clients that do not poll, at the NameNode's RPC port during the run."""

    # of a client's call (checkAccess), from its due time to its reply, measured in the client
    took_s: Quantiles
    failed: int  # the client's calls without a reply; `took_s` excludes them
    rpc_calls: int  # calls to the port that the NameNode's means cover, including nncache's own
    # mean time until a handler takes a call (RpcQueueTime); None, not NaN, if unknown
    queue_s: float | None
    lock_wait_s: float | None  # mean wait for the namespace's lock (RpcLockWaitTime)
    processing_s: float | None  # mean processing time (RpcProcessingTime)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeFigures:
    """The figures of one mode in its measured time."""

    mode: str  # a `Mode`
    duration_s: float  # of the measured time
    due: int  # polls that were due; `sent` of them were sent, `failed` got no reply or a 5xx
    sent: int
    failed: int
    # from a poll's due time until it is sent, if its connection was free: the generator's own lateness
    late_starts_s: Quantiles
    # whether the generator kept its schedule: p99 of `late_starts_s` within SCHEDULE_S, and all polls sent
    kept_schedule: bool
    latency_s: Quantiles  # from a poll's due time until its reply is complete
    hits: int  # replies from memory, according to the server
    # all replies by their source, according to the server: 'hit', 'miss', 'miss; no-grant' (the caller's right to see
    # the path had to be proven first) and so on; excludes servers that do not report it
    answers: dict[str, int] = field(default_factory=dict)
    changes: int  # changes acknowledged in the measured time
    changed_paths: int  # their rows in `changes`
    # from the acknowledgement of a change to each poller's first reply that shows it (0 if earlier), for all pollers
    # of the path; excludes changes too close to the end to be seen
    lateness_s: Quantiles
    first_lateness_s: Quantiles  # the same, to the first reply of any poller
    stale: int  # replies that were outdated when requested, but within the bound
    oldest_s: float  # the greatest age of a stale reply
    # replies that match no state at any allowed time: at most 100 of them; `wrong_count` counts all
    wrong: tuple[WrongAnswer, ...]
    wrong_count: int
    # calls to the NameNode for `mode`'s clients, by name: 'getFileInfo', 'isFileClosed'; without the changer's own
    calls: dict[str, int]
    # calls to the NameNode that no poll caused, by name: polls of the edits, probes
    upkeep: dict[str, int]
    # by process ('namenode', 'proxy', 'publisher', 'nginx', 'generator', 'changer'; in a cluster with
    # JournalNodes also 'standby', 'journalnode-1' and so on)
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]  # by process, resident at the end
    clock_error_s: float  # the greatest error of any host's clock
    # answers from memory that the proxy compared with the NameNode's own, by outcome (`nncache_audit_total`),
    # including those of the warm-up; empty without an auditor
    audited: dict[str, int] = field(default_factory=dict)
    others: OthersFigures | None = None  # times of clients that do not poll; None if not measured

    @property
    def polls_per_s(self) -> float:
        """Replies per second."""
        return (self.sent - self.failed) / self.duration_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The parameters of a run, as in `run.json`."""

    date: str
    seed: int
    workload: dict[
        str, object
    ]  # as in its file, with `--pollers` and similar options applied (bench/shared/workload.py)
    period_s: float  # the actual poll period
    duration_s: float
    warm_up_s: float
    modes: tuple[str, ...]
    bound_s: float  # the proxy's max_staleness_s; for nginx, its time limit
    nginx_valid_s: float
    master: str
    # "processor", "cores", "memory" and so on, for readers
    machine: dict[str, str] = field(default_factory=dict)
    # of nncache, Hadoop, nginx, Python, Spark and Java
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""  # reproduces the run
    edits_source: str = "inotify"  # the source of edits, as in nncache's setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPeriod:
    """The figures of the modes in a shorter run at another poll period."""

    period_s: float
    modes: tuple[ModeFigures, ...]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A whole run, as in `figures.json`."""

    info: RunInfo
    modes: tuple[ModeFigures, ...]
    also: tuple[AtPeriod, ...] = ()
