"""The figures of a run of histories, and whether they meet the requirements."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.inotify.verdict import Verdict
from tests.journal_faults.history import Played

WRONG = ("lost", "duplicated", "disordered", "made_up")


@dataclass(slots=True)
class Figures:
    """The figures of all histories so far."""

    played: list[Played] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)  # why histories could not be judged

    @property
    def _verdicts(self) -> list[Verdict]:
        return [each.verdict for each in self.played]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        verdicts = self._verdicts
        yield (
            f"{len(self.played)} histories, {sum(each.made for each in self.played):,} changes acknowledged, "
            f"{sum(each.runs for each in self.played)} runs of the reader; {len(self.abandoned)} more histories could "
            "not be judged"
        )
        yield (
            f"{sum(each.events for each in verdicts):,} transactions read, {sum(each.gaps for each in verdicts)} gaps "
            f"reported that cover {sum(each.missed for each in verdicts):,}"
        )
        for what in WRONG:
            yield f"{what.replace('_', ' ')}: {sum(len(getattr(each, what)) for each in verdicts)}"
        yield (
            f"{sum(each.hits for each in self.played):,} answers from memory, "
            f"{sum(len(each.stale) for each in self.played)} older than allowed"
        )
        for why, number in sum((each.ends for each in self.played), Counter[str]()).most_common(8):
            yield f"{number} times a run ended, or did not begin: {why[:200]}"
        yield from (f"not judged: {why}" for why in self.abandoned)

    def shortfalls(self) -> tuple[str, ...]:
        """Return the requirements that are not met."""
        found = [
            f"{number} transactions {what.replace('_', ' ')}"
            for what in WRONG
            if (number := sum(len(getattr(each, what)) for each in self._verdicts))
        ]
        found += [each for played in self.played for each in played.stale[:3]]
        if not any(each.events for each in self._verdicts):
            found.append("no transaction was read")
        if not any(each.hits for each in self.played):
            found.append("nothing was answered from memory")
        if len(self.abandoned) > len(self.played):
            found.append(f"most histories could not be judged: {self.abandoned[-1]}")
        return tuple(found)
