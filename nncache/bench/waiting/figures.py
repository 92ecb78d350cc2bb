"""What clients that wait must see, and what they may cost.

Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nncache.bench.connects.figures import Times
from nncache.bench.request_cost.figures import Verdict

MAX_P99_S: Final = 1.0
"""From the NameNode's acknowledgement of a file to the answer of each client that waits for it."""

AIM_P99_S: Final = 0.2

AIM_BYTES: Final = 8_192
"""Of the proxy's memory, for each client that waits, with its connection."""

MAX_OTHERS_P99_S: Final = 0.1
"""Of the polls of other clients while those who wait are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What clients cost while they wait and nothing changes.

    Attributes:
        clients: that wait.
        paths: for which they do.
        before_bytes: proportional set size of the proxy without them.
        idle_bytes: the same with all connected.
        waiting_bytes: the same with all waiting.
        asked_s: until all were held.
        asked_cpu_s: of the proxy, until then.
        quiet_s: for how long nothing changed.
        forwarded: calls that the proxy forwarded or asked in that time.
        file_calls: operations of files that the NameNode has counted in that time.
        rpc_calls: calls that it has counted over RPC, but for the gate's own.
        gate_calls: the gate's own: reading edits, and probes over JMX.
        cpu_s: of the proxy, in that time.
    """

    clients: int
    paths: int
    before_bytes: int
    idle_bytes: int
    waiting_bytes: int
    asked_s: float
    asked_cpu_s: float
    quiet_s: float
    forwarded: int
    file_calls: int
    rpc_calls: int
    gate_calls: int
    cpu_s: float

    @property
    def bytes_each(self) -> float:
        """Return what a client that waits takes, with its connection."""
        return (self.waiting_bytes - self.before_bytes) / self.clients

    @property
    def idle_bytes_each(self) -> float:
        """Return what its connection takes alone."""
        return (self.idle_bytes - self.before_bytes) / self.clients

    @property
    def calls(self) -> int:
        """Return the calls that were made and are not the gate's own, by whichever count is larger."""
        return max(self.forwarded, self.file_calls + self.rpc_calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What clients saw of files that appeared.

    Attributes:
        how: they did.
        clients: that waited.
        paths: as many files.
        after_ack: from the acknowledgement to the answer, for all that were answered.
        failed: clients without an answer, or with one that does not show the file.
        files_s: from the first acknowledgement to the last.
        answers_s: from the first acknowledgement to the last answer.
        namenode_calls: that the proxy made for all of them.
        others: polls of other clients meanwhile.
        stalls: of the proxy's event loop, of more than 0.1 s.
        longest_s: for which the event loop was late in the last minute or two.
        cpu_s: of the proxy.
        clients_cpu_s: of the clients.
    """

    how: str
    clients: int
    paths: int
    after_ack: Times
    failed: int
    files_s: float
    answers_s: float
    namenode_calls: int
    others: Times
    stalls: int
    longest_s: float
    cpu_s: float
    clients_cpu_s: float


def lines(held: Held, delivered: Sequence[Delivered]) -> list[str]:
    """Return what is not judged, for people."""
    begun = (
        f"{held.clients:,} clients wait for {held.paths:,} paths: held after {held.asked_s:.2f} s, "
        f"{held.asked_cpu_s:.2f} s of the proxy's CPU"
    )
    memory = (
        f"memory for each: {held.bytes_each / 1024:.1f} KiB, of which its connection alone takes "
        f"{held.idle_bytes_each / 1024:.1f} KiB"
    )
    quiet = (
        f"{held.quiet_s:.0f} s of waiting: {held.cpu_s:.2f} s of the proxy's CPU, "
        f"{held.gate_calls:,} calls of the gate"
    )
    return [begun, memory, quiet, *(_line(each) for each in delivered)]


def _line(each: Delivered) -> str:
    return (
        f"{each.how}: p50 {_ms(each.after_ack.p50_s)}, p99 {_ms(each.after_ack.p99_s)}, worst "
        f"{_ms(each.after_ack.max_s)} after the acknowledgement; {each.namenode_calls:,} calls of the NameNode, "
        f"{each.cpu_s:.2f} s of the proxy's CPU, {each.clients_cpu_s:.2f} s of the clients'; "
        f"files in {each.files_s:.2f} s, answers in {each.answers_s:.2f} s; other polls p50 "
        f"{_ms(each.others.p50_s)}, p99 {_ms(each.others.p99_s)}, worst {_ms(each.others.max_s)}; event loop late by "
        f"{_ms(each.longest_s)} at most"
    )


def verdicts(held: Held, delivered: Sequence[Delivered]) -> list[Verdict]:
    """Judge one run; `AIM_P99_S` is said only."""
    judged = [
        Verdict(
            what="no call of the NameNode while they wait, but the gate's own",
            seen=f"{held.calls:,} in {held.quiet_s:.0f} s",
            is_met=held.calls == 0 and held.gate_calls > 0,
        ),
        Verdict(
            what=f"memory for each client that waits at most {AIM_BYTES / 1024:g} KiB",
            seen=f"{held.bytes_each / 1024:.1f} KiB",
            is_met=held.bytes_each <= AIM_BYTES,
        ),
    ]
    for each in delivered:
        judged += [
            Verdict(
                what=f"{each.how}: each client has its answer",
                seen=f"{each.failed:,} of {each.clients:,} have not",
                is_met=not each.failed,
            ),
            Verdict(
                what=f"{each.how}: p99 at most {MAX_P99_S:g} s after the acknowledgement, aim {AIM_P99_S:g} s",
                seen=_ms(each.after_ack.p99_s),
                is_met=each.after_ack.count > 0 and each.after_ack.p99_s <= MAX_P99_S,
            ),
            Verdict(
                what=f"{each.how}: polls of others p99 at most {MAX_OTHERS_P99_S * 1e3:.0f} ms, no stall of the loop",
                seen=f"{_ms(each.others.p99_s)}, {each.stalls} stalls",
                is_met=each.others.count > 0 and each.others.p99_s <= MAX_OTHERS_P99_S and not each.stalls,
            ),
        ]
    return judged


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
