"""The figures of one attack."""

from dataclasses import dataclass, field

from tests.overload.samples import SampleCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one attack; verdicts.py judges them.

    Attributes:
        done: what the attackers sent, in words.
        quiet: what each kind of client saw just before, by the value of its `Kind`.
        during: the same for requests that were due during the attack.
        wrong: wrong answers until hits had returned.
        idle_bytes, peak_bytes, bound_bytes: resident memory after the start, at its peak, and by the settings.
        cpu_share: of one core, used by the proxy during the attack.
        quiet_calls_s, calls_s: status and listing calls a second that the NameNode counted before and during the
            attack, the attackers' own included; None: it did not reply.
        recovery_s: from the end of the attack until the pollers had only hits; None: not within `watched_s`.
        stalls: blockings of the event loop for over 0.1 s, by the proxy's counter; None: it has none.
        ended: how the proxy's process ended during the attack; empty: it runs.
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
    """The cost of one request of at most 64 KB on an otherwise idle proxy.

    Attributes:
        cpu_s: of the event loop's thread, the median of the repetitions.
        grown_bytes: the largest growth of resident memory during the request.
        status: of the reply; 0: there was none.
    """

    shape: str
    request_bytes: int
    status: int
    cpu_s: float
    grown_bytes: int
    repetitions: int


@dataclass(slots=True)
class Results:
    """All measurements of one run, and the attacks that could not be run."""

    figures: list[Figures] = field(default_factory=list)
    costs: list[RequestCost] = field(default_factory=list)
    not_run: list[tuple[str, str]] = field(default_factory=list)  # attack, reason
