"""What was measured of an inotify service, and whether that is what is promised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_START_S: Final = 5.0
"""With 5,000 filters in HDFS and nothing in ZooKeeper, until all are in force."""

MAX_RESTART_S: Final = 2.0
"""With nothing changed, until all are in force again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of a publisher, from the start of its process on."""

    is_restart: bool
    filters: int
    in_force_s: float  # until it publishes with all filters
    compared_s: float  # until it has read all filters from HDFS
    zookeeper_calls: int  # until then
    namenode_calls: int  # which the NameNode counts as operations of files, by RPC and WebHDFS, until then
    attribute_calls: int  # getXAttrs by RPC, which it does not count as such, until then
    cpu_s: float  # of the publisher, until then
    waited_s: float  # of the publisher for a CPU that others had, until then
    load: float  # of the machine, in its last minute

    @property
    def most_s(self) -> float:
        """What it may take."""
        return MAX_RESTART_S if self.is_restart else MAX_START_S

    @property
    def is_good(self) -> bool:
        """Whether it is as quick as promised."""
        return self.in_force_s <= self.most_s

    def line(self) -> str:
        """Return it for people."""
        return (
            f"{'met  ' if self.is_good else 'SHORT'} {'restart' if self.is_restart else 'start'} with "
            f"{self.filters} filters: in force after {self.in_force_s:.2f} s (at most {self.most_s:g} s), read from "
            f"HDFS after {self.compared_s:.2f} s, with {self.namenode_calls} calls of the NameNode, "
            f"{self.attribute_calls} for attributes and {self.zookeeper_calls} of ZooKeeper, "
            f"{self.cpu_s:.2f} s of CPU, {self.waited_s:.2f} s of waiting for one (load {self.load:.1f})"
        )


MAX_P50_S: Final = 0.03
MAX_P99_S: Final = 0.25
"""From the NameNode's acknowledgement of a change until a subscriber has its event."""

MIN_EDITS_PER_CPU_S: Final = 50_000
"""Through the globs of all filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Events on their way to their subscribers, beside many edits that match nothing."""

    filters: int
    subscribers: int
    events: int  # changes that one filter each matched
    lost: int  # of these, not delivered a few seconds after the last
    p50_s: float
    p99_s: float
    edits_per_s: float
    writes: int  # transactions of ZooKeeper
    matched: int  # events given to filters
    coverage: int  # records that only say how far the edits were read
    polls_per_s: float
    polling_share: float  # of a core of the NameNode, as the publisher estimates it
    namenode_cores: float  # that the NameNode took in all
    publisher_cores: float

    @property
    def is_good(self) -> bool:
        """Whether it is as promised."""
        return (
            not self.lost
            and self.p50_s <= MAX_P50_S
            and self.p99_s <= MAX_P99_S
            and self.writes <= self.matched + self.coverage
        )

    def line(self) -> str:
        """Return it for people."""
        return (
            f"{'met  ' if self.is_good else 'SHORT'} {self.events} events of {self.filters} filters to "
            f"{self.subscribers} subscribers beside {self.edits_per_s:.0f} edits/s: p50 {self.p50_s * 1000:.0f} ms (at "
            f"most {MAX_P50_S * 1000:g}), p99 {self.p99_s * 1000:.0f} ms (at most {MAX_P99_S * 1000:g}), {self.lost} "
            f"lost; {self.writes} writes to ZooKeeper for {self.matched} events and {self.coverage} times coverage; "
            f"{self.polls_per_s:.1f} polls/s, {self.polling_share:.1%} of a core of the {self.namenode_cores:.2f} that "
            f"the NameNode took; "
            f"the publisher took {self.publisher_cores:.2f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """A publisher that reads what was changed while none was there."""

    edits: int
    cpu_s: float  # beyond those of a start without anything to read
    polls: int

    @property
    def per_cpu_s(self) -> float:
        """Edits in a second of CPU."""
        return self.edits / self.cpu_s

    @property
    def is_good(self) -> bool:
        """Whether it is as quick as promised."""
        return self.per_cpu_s >= MIN_EDITS_PER_CPU_S

    def line(self) -> str:
        """Return it for people."""
        return (
            f"{'met  ' if self.is_good else 'SHORT'} {self.edits} edits read in {self.cpu_s:.2f} s of CPU and "
            f"{self.polls} polls: {self.per_cpu_s:.0f} a second of CPU (at least {MIN_EDITS_PER_CPU_S})"
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of these figures that this share of them does not exceed; infinity of none."""
    if not ordered:
        return math.inf
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


MAX_GROWN_MIB: Final = 64.0
"""Of resident memory, by a flood."""

MAX_NORMAL_S: Final = 5.0
"""After a flood, until events come as before it."""

MAX_QUIET_P99_S: Final = 1.0
"""Of a tenant within its limit, meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """A filter with many times the events that it may have, beside one within its limit."""

    seconds: float  # of the flood
    per_s: float  # of it
    limit_per_s: float
    made: int  # changes of the flood
    delivered: int  # of these, to the subscriber
    covered: int  # not delivered, but within a gap that was named
    silent: int  # neither
    wrong: int  # delivered twice, or out of order
    over_limit: int  # events that the publisher says it has left out
    grown_mib: float  # resident memory of the publisher, at most
    most_waiting: int  # events
    normal_after_s: float  # after the flood
    quiet_events: int  # of the other tenant, meanwhile
    quiet_p99_s: float
    quiet_p99_before_s: float  # and after
    quiet_gaps: int

    @property
    def is_good(self) -> bool:
        """Whether it is as promised."""
        return (
            self.made == self.delivered + self.covered
            and not (self.silent or self.wrong or self.quiet_gaps)
            and self.covered > 0
            and self.grown_mib <= MAX_GROWN_MIB
            and self.normal_after_s <= MAX_NORMAL_S
            and self.quiet_p99_s <= MAX_QUIET_P99_S
        )

    def line(self) -> str:
        """Return it for people."""
        return (
            f"{'met  ' if self.is_good else 'SHORT'} flood of {self.per_s:.0f} events/s for {self.seconds:.0f} s at a "
            f"limit of {self.limit_per_s:g}: {self.made} made, {self.delivered} delivered, "
            f"{self.covered} within named gaps, {self.silent} in silence, {self.wrong} wrong "
            f"({self.over_limit} left out); memory +{self.grown_mib:.1f} MiB (at most {MAX_GROWN_MIB:g}), "
            f"{self.most_waiting} events waiting; normal {self.normal_after_s:.1f} s "
            f"after (at most {MAX_NORMAL_S:g}); the other tenant: {self.quiet_events} events, {self.quiet_gaps} gaps, "
            f"p99 {self.quiet_p99_s * 1000:.0f} ms (before and after {self.quiet_p99_before_s * 1000:.0f} ms)"
        )
