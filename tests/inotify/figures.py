"""The figures of a run of histories, and whether they meet the requirements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.inotify.history import Played
from tests.inotify.plan import Kind
from tests.inotify.zookeeper_log import Writers

LIMITS_S: Final = {Kind.LEADER_KILLED: 3.0, Kind.LEADER_HANDS_OVER: 0.5}
"""Limits on the time until the next leader publishes, with sessions of 2 s."""


@dataclass(slots=True)
class Figures:
    """The figures of all histories so far."""

    played: list[Played] = field(default_factory=list)
    writers: list[Writers] = field(default_factory=list)  # one for each history

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        verdicts = [verdict for each in self.played for verdict in each.verdicts.values()]
        yield (
            f"{len(self.played)} histories, {sum(each.calls for each in self.played):,} changes of HDFS, "
            f"{sum(each.elections for each in self.played)} elections"
        )
        yield (
            f"{sum(each.events for each in verdicts):,} events told, {sum(each.gaps for each in verdicts)} gaps "
            f"that cover {sum(each.missed for each in verdicts):,} events"
        )
        for what in ("lost", "duplicated", "disordered", "made_up"):
            yield f"{what.replace('_', ' ')}: {sum(len(getattr(each, what)) for each in verdicts)}"
        yield (
            f"transactions in ZooKeeper: {sum(each.by_leaders for each in self.writers):,} of the leader elected last, "
            f"{sum(len(each.by_others) for each in self.writers)} of others; leaders deposed while they could not "
            f"hear of it: {sum(each.deposed for each in self.played)}"
        )
        yield f"streams over HTTP that went on where one had ended: {sum(each.resumed for each in self.played):,}"
        for kind, limit_s in LIMITS_S.items():
            if took := self._takeovers(kind):
                middle = sorted(took)[len(took) // 2]
                yield (
                    f"{kind.value}: the next leader published after {middle:.2f} s in the median, "
                    f"{max(took):.2f} s at most ({len(took)} times; limit {limit_s:g} s)"
                )

    def shortfalls(self, *, timed: bool) -> tuple[str, ...]:
        """Return the requirements that are not met. Times count only with `timed`: the machine is quiet enough."""
        found = []
        verdicts = [verdict for each in self.played for verdict in each.verdicts.values()]
        wrong = sum(not each.is_right for each in verdicts)
        if wrong:
            found.append(f"{wrong} of {len(verdicts)} subscribers were not told what happened")
        if not any(each.events for each in verdicts):
            found.append("no event was told to anybody")
        if refused := sum(each.refused for each in self.played):
            found.append(f"{refused} times a stream was refused to a subscriber of its filter")
        if strangers := sum(len(each.by_others) for each in self.writers):
            found.append(f"{strangers} transactions were made by others than the leader elected last")
        if not any(each.by_leaders for each in self.writers):
            found.append("ZooKeeper's logs show no transaction of a leader")
        for kind, limit_s in LIMITS_S.items():
            late = [took for took in self._takeovers(kind) if took > limit_s]
            if timed and late:
                found.append(f"{kind.value}: {len(late)} times the next leader published after {limit_s:g} s")
        return tuple(found)

    def _takeovers(self, kind: Kind) -> Sequence[float]:
        return [took for each in self.played for which, took in each.takeovers if which is kind]
