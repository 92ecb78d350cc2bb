"""A cache that judges its calls."""

from collections.abc import Callable, Mapping

from nncache.hadoop.change import Appeared, Change, Vanished


class Judge:
    """A cache that knows when each change was acknowledged, and checks each coverage (Bounded).

    The consumer survives exceptions of its cache, so faults are recorded instead of raised.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.acknowledged: list[tuple[float, str]] = []  # (time, path): each path is changed once
        self.opened = 0  # number of calls
        self.closed: list[str] = []  # reasons
        self.applied_at: dict[str, float] = {}  # by path, over all streams
        self.open_since: float | None = None
        self.applied: set[str] = set()  # since `open_since`
        self.fresh_as_of = 0.0
        self.globs: dict[str, str] = {}  # the filters in force, by id
        self.wrongs: list[str] = []

    def acknowledge(self, path: str) -> None:
        """Record that the change of this path was acknowledged to its client."""
        self.acknowledged.append((self._clock(), path))

    def open_stream(self, term: int) -> None:
        """Forget everything."""
        self.open_since, self.applied = self._clock(), set()
        self.opened += 1

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Record the filters in force."""
        self.globs = dict(globs)

    def apply(self, change: Change, now: float, txid: int | None = None) -> None:
        """Record the path; a second time, or while closed, is a fault."""
        if not isinstance(change, Appeared | Vanished):
            return
        if self.open_since is None:
            self.wrongs.append(f"{change.path} applied while closed")
        if change.path in self.applied:
            self.wrongs.append(f"{change.path} applied twice")
        self.applied.add(change.path)
        self.applied_at[change.path] = now

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Check that all changes acknowledged since the stream opened and before `as_of` were applied."""
        if self.open_since is None:
            self.wrongs.append("covered while closed")
            return
        due = {path for at, path in self.acknowledged if self.open_since <= at < as_of}
        if missing := due - self.applied:
            self.wrongs.append(f"covered as of {as_of} without {sorted(missing)}")
        self.fresh_as_of = as_of

    def close_stream(self, reason: str) -> None:
        """Forget everything."""
        self.open_since, self.applied = None, set()
        self.closed.append(reason)
