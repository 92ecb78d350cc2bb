"""Windows to try out."""

from nncache.cache.deferred_writes import ANYBODY, TwoStepWrite, Writer
from nncache.cache.windows import TwoStepWindows
from nncache.hadoop.globs import GlobSet

ALL = ("/*", "/*/*", "/*/*/*", "/*/*/*/*")


WINDOW_S = 600.0


def globs(*which: str) -> GlobSet:
    """Filters of these globs."""
    return GlobSet({glob: glob for glob in which})


def make(max_windows: int = 10) -> TwoStepWindows:
    """Windows of ten minutes."""
    return TwoStepWindows(window_s=WINDOW_S, max_windows=max_windows)


def begin(windows: TwoStepWindows, path: str, now: float = 0.0, **more: object) -> bool:
    """Open a window after transaction 50 while every path matches, unless told otherwise."""
    after_txid = more.get("after_txid", 50)
    topmost = more.get("topmost_missing")
    assert after_txid is None or isinstance(after_txid, int)
    assert topmost is None or isinstance(topmost, str)
    filters = globs(*ALL) if "glob" not in more else globs(str(more["glob"]))
    writer = more.get("writer", ANYBODY)
    assert isinstance(writer, Writer)
    write = TwoStepWrite(path, after_txid, windows.ends_at(now), topmost, writer)
    return windows.begin(write, now=now, filters=filters) is not None


def of(*owners: str, has_right: bool = True) -> Writer:
    """Somebody who writes."""
    return Writer(owners=owners, has_right=has_right)
