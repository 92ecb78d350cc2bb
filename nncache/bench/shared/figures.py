"""What a run comes out as: the figures of each mode, and what they must be at least."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

SCHEDULE_S: Final = 0.05  # by how much a generator that keeps its schedule may be late, p99, s


class Mode(StrEnum):
    """Whom the pollers ask."""

    DIRECT = "direct"  # the NameNode itself
    NNCACHE = "nncache"
    WAITING = "waiting"  # nncache, by clients that wait for another answer in place of polling
    NGINX = "nginx"  # proxy_cache with a time limit
    UNPOLLED = "unpolled"  # no one: what the NameNode does anyway, for the changes and for itself


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
    """(value, share of all that are at most that), for a chart; at most a few hundred points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """One read that no allowed moment explains."""

    poller: int
    path_id: int
    sent_s: float
    replied_s: float
    status: int
    served: str
    # for how long what it said had been no longer true when it was sent; None if it never was true
    age_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersFigures:
    """What clients that do not poll meet at the NameNode's RPC port meanwhile."""

    # by a call of such a client (checkAccess), from when it was due to its reply, in the client
    took_s: Quantiles
    failed: int  # calls of it without a reply; they are not in `took_s`
    rpc_calls: int  # all calls to the port over which the NameNode made its means, nncache's own included
    # mean time of these until a handler took them (RpcQueueTime); NaN is never there: None if not known
    queue_s: float | None
    lock_wait_s: float | None  # mean time for which they waited for the namespace's lock (RpcLockWaitTime)
    processing_s: float | None  # mean time of the work itself (RpcProcessingTime)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeFigures:
    """What one mode did in its measured time."""

    mode: str  # a `Mode`
    duration_s: float  # of the measured time
    due: int  # polls that were due; `sent` of them were sent, `failed` of them got no reply, or one of 5xx
    sent: int
    failed: int
    # from when a poll was due until it was sent, of those whose connection was free: the generator's own
    # lateness
    late_starts_s: Quantiles
    # whether the generator kept its schedule: p99 of that within SCHEDULE_S, and all polls sent
    kept_schedule: bool
    latency_s: Quantiles  # from when a poll was due until its reply was complete
    hits: int  # replies that the server says came from its memory
    # all replies, by how they came about as the server says: 'hit', 'miss', 'miss; no-grant' (a caller whose
    # right to see the path had to be proven first) and so on; without those of a server that says nothing
    answers: dict[str, int] = field(default_factory=dict)
    changes: int  # changes acknowledged in the measured time
    changed_paths: int  # the rows of `changes` that they have
    # from the acknowledgement of a change to each poller's first reply that shows it (0 if it was seen
    # before), over all pollers of the path; changes too near to the end to be seen are left out
    lateness_s: Quantiles
    first_lateness_s: Quantiles  # the same to the first reply that any poller got
    stale: int  # replies that showed what was no longer true when they were asked for, but not for too long
    oldest_s: float  # the greatest such age
    # replies that no allowed moment explains, at most 100 of them; `wrong_count` has them all
    wrong: tuple[WrongAnswer, ...]
    wrong_count: int
    # by name, what the NameNode was asked for through `mode`'s clients: 'getFileInfo', 'isFileClosed'. The
    # changer's own calls are not in it.
    calls: dict[str, int]
    # by name, what the NameNode was asked for without any poll: polls of the edits, probes
    upkeep: dict[str, int]
    # by process ('namenode', 'proxy', 'publisher', 'nginx', 'generator', 'changer'; of a cluster with
    # JournalNodes also 'standby', 'journalnode-1' and so on)
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]  # by process, resident at the end
    clock_error_s: float  # the greatest error of any host's clock
    # answers from memory that the proxy itself compared with the NameNode's own, by outcome
    # (`nncache_audit_total`): over the whole mode, warm-up included; empty without an auditor
    audited: dict[str, int] = field(default_factory=dict)
    others: OthersFigures | None = None  # what clients that do not poll met; None if that was not measured

    @property
    def polls_per_s(self) -> float:
        """Replies a second."""
        return (self.sent - self.failed) / self.duration_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What was run, as `run.json` has it."""

    date: str
    seed: int
    workload: dict[str, object]  # as in its file, after `--pollers` and the like (bench/shared/workload.py)
    period_s: float  # as it was run
    duration_s: float
    warm_up_s: float
    modes: tuple[str, ...]
    bound_s: float  # the proxy's max_staleness_s; for nginx, its time limit
    nginx_valid_s: float
    master: str
    # "processor", "cores", "memory" and the like, for a reader
    machine: dict[str, str] = field(default_factory=dict)
    # of nncache, Hadoop, nginx, Python, Spark and Java
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""  # what reproduces the run
    edits_source: str = "inotify"  # from which nncache reads edits, as its setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPeriod:
    """What the modes of a run did when they were polled once more at another poll period, for a shorter time."""

    period_s: float
    modes: tuple[ModeFigures, ...]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A whole run, as `figures.json` has it."""

    info: RunInfo
    modes: tuple[ModeFigures, ...]
    also: tuple[AtPeriod, ...] = ()
