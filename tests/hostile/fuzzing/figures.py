"""What fuzzing has come to."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class FuzzFigures:
    """One target's.

    Attributes:
        executions: inputs that were tried.
        seconds: that it took.
        edges: of the product's code that were reached, of those that lead the way.
        corpus: inputs that each reach something that no other does.
        broken: what is wrong, and which input shows it; "" for nothing.
    """

    target: str
    executions: int = 0
    seconds: float = 0.0
    edges: int = 0
    corpus: int = 0
    broken: str = ""

    def line(self) -> str:
        """Say it in a line."""
        return (
            f"{self.target:<20} {self.executions:>10,} executions in {self.seconds:>5.0f} s, "
            f"{self.edges:>5,} edges, {self.corpus:>5,} inputs kept{f', BROKEN: {self.broken}' if self.broken else ''}"
        )

    def shortfalls(self, *, executions: int, seconds: float) -> list[str]:
        """Say what is wrong, or too little."""
        if self.broken:
            return [f"{self.target}: {self.broken}"]
        short = []
        if self.executions < executions:
            short.append(f"{self.target}: {self.executions:,} executions instead of {executions:,}")
        if self.seconds < seconds:
            short.append(f"{self.target}: {self.seconds:.0f} s instead of {seconds:.0f}")
        return short
