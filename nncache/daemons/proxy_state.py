"""State of a proxy for operators: the active NameNode, and why the gate is closed."""

from dataclasses import dataclass

from nncache.coordination.zookeeper import SessionStats
from nncache.daemons.state_change import StateLine, about_active
from nncache.hadoop.election_view import Active, Probe

OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The observable conditions that open or close the gate."""

    is_open: bool
    is_stream_open: bool
    trouble: str
    """Why the stream could not be opened; "" if no reason is known."""
    applied_txid: int
    last_probe: Probe | None
    session: SessionStats | None
    """The ZooKeeper session of the channel; None for a channel without ZooKeeper."""


def gate_text(gate: Gate) -> str:
    """Return `open`, or `closed` with the reason: the first fault on the way of changes to the cache."""
    if gate.is_open:
        return OPEN
    return f"closed: {_why_closed(gate)}"


def _why_closed(gate: Gate) -> str:
    if gate.session is not None and not gate.session.is_connected:
        return "there is no connection to ZooKeeper"
    if not gate.is_stream_open:
        why = f" ({gate.trouble})" if gate.trouble else ""
        return f"the NameNode's changes are not being read{why}"
    if gate.session is not None:
        if gate.last_probe is None:
            return "the active NameNode does not say how far its log has come"
        behind = gate.last_probe.txid - gate.applied_txid
        if behind > 0:
            return f"behind the NameNode by {behind} transactions: is a publisher running?"
    return "it is too long since all changes were known to be applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyState:
    """The state that the log of a proxy reports.

    Attributes:
        active: the active NameNode, if known.
        gate: the result of `gate_text`.
        namenodes: what each NameNode reports about itself.
        not_taken_s: seconds until a call that no NameNode accepts gets 503.
        silent_s: seconds until a call that a NameNode has accepted, but does not answer, gets 504.
    """

    active: Active | None
    gate: str
    namenodes: str = ""
    not_taken_s: float
    silent_s: float

    @property
    def is_gate_open(self) -> bool:
        """Whether answers may come from memory."""
        return self.gate == OPEN


def lines(before: ProxyState | None, now: ProxyState) -> tuple[StateLine, ...]:
    """Return the log lines for a change of state. `before` is None until a state has been logged."""
    of_active = about_active(
        None if before is None else before.active,
        now.active,
        is_first=before is None,
        why_none=now.namenodes,
        without=(
            f"each NameNode is tried all the same: calls get 503 where none takes them for {now.not_taken_s:g} s, "
            f"504 where one takes them and is silent for {now.silent_s:g} s"
        ),
    )
    if before is not None and before.is_gate_open == now.is_gate_open:
        return of_active
    if now.is_gate_open:
        return *of_active, StateLine("the gate is open: what is cached may be answered from memory")
    closed = f"the gate is {now.gate}; every call goes to the NameNode; nncache explain PATH says what it waits for"
    return *of_active, StateLine(closed, is_bad=True)
