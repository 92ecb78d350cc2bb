"""A cache that judges what it is told."""

from collections.abc import Callable, Mapping

from nncache.hadoop.change import Appeared, Change, Vanished


class Judge:
    """A cache that knows what was acknowledged when, and checks each coverage (Bounded).

    The consumer survives exceptions of its cache, so what is wrong is written down.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.acknowledged: list[tuple[float, str]] = []  # (time, path): each path is changed once
        self.opened = 0  # how often
        self.closed: list[str] = []  # why
        self.applied_at: dict[str, float] = {}  # by path, over all runs
        self.open_since: float | None = None
        self.applied: set[str] = set()  # since then
        self.fresh_as_of = 0.0
        self.globs: dict[str, str] = {}  # the filters in force, by id
        self.wrongs: list[str] = []

    def acknowledge(self, path: str) -> None:
        """Take note that whoever changed this path has been told so."""
        self.acknowledged.append((self._clock(), path))

    def open_stream(self, term: int) -> None:
        """Forget everything."""
        self.open_since, self.applied = self._clock(), set()
        self.opened += 1

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Take note of what is matched."""
        self.globs = dict(globs)

    def apply(self, change: Change, now: float, txid: int | None = None) -> None:
        """Take note of the path."""
        if not isinstance(change, Appeared | Vanished):
            return
        if self.open_since is None:
            self.wrongs.append(f"{change.path} applied while closed")
        if change.path in self.applied:
            self.wrongs.append(f"{change.path} applied twice")
        self.applied.add(change.path)
        self.applied_at[change.path] = now

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Everything acknowledged since the stream is open, and before `as_of`, must have been applied."""
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
