"""What one attack on one product came to."""

from dataclasses import dataclass, field

from tests.overload.samples import SampleCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one attack; verdicts.py judges them.

    Attributes:
        done: what the attackers sent, in words.
        quiet: what each kind of client saw just before, by the value of its `Kind`.
        during: the same for requests that were due while the attack lasted.
        wrong: wrong answers, until hits were back.
        idle_bytes, peak_bytes, bound_bytes: resident memory when started and at most; by the settings.
        cpu_share: of one core, that the proxy used during the attack.
        quiet_calls_s, calls_s: statuses and listings a second at the NameNode, by its own counters, just before and
            during the attack, the attackers' own included; None: it did not say.
        recovery_s: from the end of the attack until the pollers had nothing but hits; None: not within `watched_s`.
        stalls: times that its event loop was held for over 0.1 s, as the proxy says; None: it does not say.
        ended: how the proxy's process ended under the attack; empty: it lives.
        fault: of the harness; empty: none.
    """

    attack: str
    done: str
    quiet: dict[str, SampleCounts]
    during: dict[str, SampleCounts]
    wrong: int
    idle_bytes: int
    peak_bytes: int
    bound_bytes: int
    cpu_share: float
    quiet_calls_s: float | None
    calls_s: float | None
    recovery_s: float | None
    watched_s: float
    stalls: float | None = None
    ended: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCost:
    """What one request of at most 64 KB costs an otherwise idle proxy.

    Attributes:
        cpu_s: of the event loop's thread, the median of the repetitions.
        grown_bytes: by which resident memory grew at most while it was answered.
        status: of the reply; 0: none came.
    """

    shape: str
    request_bytes: int
    status: int
    cpu_s: float
    grown_bytes: int
    repetitions: int


@dataclass(slots=True)
class Results:
    """All that one run measured, and which attacks could not be run."""

    figures: list[Figures] = field(default_factory=list)
    costs: list[RequestCost] = field(default_factory=list)
    not_run: list[tuple[str, str]] = field(default_factory=list)  # attack, why
