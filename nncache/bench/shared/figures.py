"""What a run comes out as: the figures of each mode, and what they must be at least."""

from dataclasses import dataclass, field
from typing import Final

SCHEDULE_S: Final = 0.05
"""By how much a generator that keeps its schedule may be late, p99, s."""


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
    """One read that no allowed moment explains.

    Attributes:
        age_s: for how long what it said had been no longer true when it was sent; None if it never was true.
    """

    poller: int
    path_id: int
    sent_s: float
    replied_s: float
    status: int
    served: str
    age_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersFigures:
    """What clients that do not poll meet at the NameNode's RPC port meanwhile.

    Attributes:
        took_s: by a call of such a client (checkAccess), from when it was due to its reply, in the client.
        failed: calls of it without a reply; they are not in `took_s`.
        rpc_calls: all calls to the port over which the NameNode made its means, nncache's own included.
        queue_s: mean time of these until a handler took them (RpcQueueTime); NaN is never there: None if not known.
        lock_wait_s: mean time for which they waited for the namespace's lock (RpcLockWaitTime).
        processing_s: mean time of the work itself (RpcProcessingTime).
    """

    took_s: Quantiles
    failed: int
    rpc_calls: int
    queue_s: float | None
    lock_wait_s: float | None
    processing_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeFigures:
    """What one mode did in its measured time.

    Attributes:
        mode: "direct", "nncache", "waiting", "nginx" or "unpolled".
        duration_s: of the measured time.
        due: polls that were due; `sent` of them were sent, `failed` of them got no reply, or one of 5xx.
        late_starts_s: from when a poll was due until it was sent, of those whose connection was free: the
            generator's own lateness.
        kept_schedule: whether the generator kept its schedule: p99 of that within SCHEDULE_S, and all polls sent.
        latency_s: from when a poll was due until its reply was complete.
        hits: replies that the server says came from its memory.
        answers: all replies, by how they came about as the server says: 'hit', 'miss', 'miss; no-grant' (a caller whose
            right to see the path had to be proven first) and so on; without those of a server that says nothing.
        changes: changes acknowledged in the measured time.
        changed_paths: the rows of `changes` that they have.
        lateness_s: from the acknowledgement of a change to each poller's first reply that shows it (0 if it was
            seen before), over all pollers of the path; changes too near to the end to be seen are left out.
        first_lateness_s: the same to the first reply that any poller got.
        stale: replies that showed what was no longer true when they were asked for, but not for too long.
        oldest_s: the greatest such age.
        wrong: replies that no allowed moment explains, at most 100 of them; `wrong_count` has them all.
        calls: by name, what the NameNode was asked for through `mode`'s clients: 'getFileInfo', 'isFileClosed'.
            The changer's own calls are not in it.
        upkeep: by name, what the NameNode was asked for without any poll: polls of the edits, probes.
        cpu_s: by process ('namenode', 'proxy', 'publisher', 'nginx', 'generator', 'changer'; of a cluster with
            JournalNodes also 'standby', 'journalnode-1' and so on).
        memory_bytes: by process, resident at the end.
        clock_error_s: the greatest error of any host's clock.
        audited: answers from memory that the proxy itself compared with the NameNode's own, by outcome
            (`nncache_audit_total`): over the whole mode, warm-up included; empty without an auditor.
        others: what clients that do not poll met; None if that was not measured.
    """

    mode: str
    duration_s: float
    due: int
    sent: int
    failed: int
    late_starts_s: Quantiles
    kept_schedule: bool
    latency_s: Quantiles
    hits: int
    answers: dict[str, int] = field(default_factory=dict)
    changes: int
    changed_paths: int
    lateness_s: Quantiles
    first_lateness_s: Quantiles
    stale: int
    oldest_s: float
    wrong: tuple[WrongAnswer, ...]
    wrong_count: int
    calls: dict[str, int]
    upkeep: dict[str, int]
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]
    clock_error_s: float
    audited: dict[str, int] = field(default_factory=dict)
    others: OthersFigures | None = None

    @property
    def polls_per_s(self) -> float:
        """Replies a second."""
        return (self.sent - self.failed) / self.duration_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What was run, as `run.json` has it.

    Attributes:
        workload: as in its file, after `--pollers` and the like (bench/shared/workload.py).
        period_s: as it was run.
        edits_source: from which nncache reads edits, as its setting.
        bound_s: the proxy's max_staleness_s; for nginx, its time limit.
        machine: "processor", "cores", "memory" and the like, for a reader.
        versions: of nncache, Hadoop, nginx, Python, Spark and Java.
        command: what reproduces the run.
    """

    date: str
    seed: int
    workload: dict[str, object]
    period_s: float
    duration_s: float
    warm_up_s: float
    modes: tuple[str, ...]
    bound_s: float
    nginx_valid_s: float
    master: str
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""
    edits_source: str = "inotify"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtPeriod:
    """What the modes of a run did when they were polled once more at another poll period, for a shorter time."""

    period_s: float
    modes: tuple[ModeFigures, ...]
