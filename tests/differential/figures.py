"""What a differential run has seen, and whether it is enough."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Figures:
    """Counts of one run.

    Attributes:
        latencies_s: from the acknowledgement of a change behind the proxy's back to the start of the
            first read that showed it, for paths that were a hit less than a second before.
        wrong: what was wrong, with the operation that came before it.
        stale_after_write: those of them that followed a write through the proxy at once.
        keepable: answers of 200 or 404; all paths match, and but for a cut block all files are closed.
        hits: those of them that came from memory.
    """

    operations: int = 0
    refused: int = 0
    compared: int = 0
    keepable: int = 0
    hits: int = 0
    stale_after_write: int = 0
    wrong: list[str] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def hit_share(self) -> float:
        """Share of keepable answers that came from memory."""
        return self.hits / self.keepable if self.keepable else 0.0

    def quantile_ms(self, quantile: float) -> float:
        """Return a quantile of the latencies in milliseconds (nearest rank)."""
        ordered = sorted(self.latencies_s)
        return 1000.0 * ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]

    def lines(self) -> list[str]:
        """Say it in plain words."""
        by_kind = ", ".join(f"{kind} {number}" for kind, number in sorted(self.kinds.items()))
        said = [
            f"operations            {self.operations} ({self.refused} refused by the NameNode): {by_kind}",
            f"answers compared      {self.compared}",
            f"wrong answers         {len(self.wrong)}",
            f"stale after a write   {self.stale_after_write}",
            f"hits                  {self.hits} of {self.keepable} keepable answers ({self.hit_share:.1%})",
        ]
        if self.latencies_s:
            said.append(
                f"change seen after     p50 {self.quantile_ms(0.5):.1f} ms, p99 {self.quantile_ms(0.99):.1f} ms, "
                f"max {self.quantile_ms(1.0):.1f} ms of {len(self.latencies_s)} changes behind the proxy's back"
            )
        return [*said, *(f"WRONG: {wrong}" for wrong in self.wrong[:20])]

    def shortfalls(self, *, p50_ms: float, hit_share: float = 0.5) -> list[str]:
        """Say in what the run falls short of what it must show; empty when it does not."""
        short = []
        if self.wrong:
            short.append(f"{len(self.wrong)} wrong answers")
        if self.hit_share < hit_share:
            short.append(f"only {self.hit_share:.1%} hits: too few to prove anything")
        if len(self.latencies_s) < self.operations / 20:
            short.append(f"only {len(self.latencies_s)} changes were timed: too few to prove anything")
        elif self.quantile_ms(0.5) > p50_ms:
            short.append(f"a change is seen after {self.quantile_ms(0.5):.1f} ms (p50), not {p50_ms:.0f} ms")
        return short
