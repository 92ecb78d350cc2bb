"""The entries and rights that each change removes.

`hadoop/changes.py` and `hadoop/effects.py` define what an event or a call can have changed; this module applies it.
No entry is updated or moved to another path: a moved tree can differ from what it was (storage policy, erasure
coding), so the only safe reaction is to forget.
"""

from typing import assert_never

from nncache.cache.store import CacheStore, Forgotten
from nncache.cache.windows import TwoStepWindows
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    EverythingUnknown,
    FileTouched,
    Footprint,
    LineTouched,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.paths import ROOT, parent


def forget(
    change: Footprint, store: CacheStore, windows: TwoStepWindows, *, now: float, txid: int | None
) -> None:
    """Forget what the change makes stale, and pass an event (`txid` is not None) to the two-step writes."""
    forget_epoch = store.forget_epoch
    match change:
        case Appeared(path) | Vanished(path):
            _forget_place(store, path)
        case Moved(source, path):
            _forget_place(store, source)
            _forget_place(store, path)
            if store.forget_epoch != forget_epoch:
                store.note_forgotten(Forgotten(source, type(change).__name__, txid, now))
        case Touched(path) | Opened(path) | Closed(path):
            store.forget_status(path)
        case FileTouched(path):
            store.forget_status(path, spares_directory=True)
        case LineTouched(line, path):  # noted at the top, where `explain` looks for all of it
            store.forget_line(line, path)
        case AccessChanged(path) | SubtreeUnknown(path):
            store.forget_subtree(path)
        case EverythingUnknown():
            path = ROOT
            store.forget_all()
        case _:
            assert_never(change)
    store.watches.apply(change, is_event=txid is not None)
    store.counters.changes += 1
    if store.forget_epoch != forget_epoch:
        store.note_forgotten(Forgotten(path, type(change).__name__, txid, now))
    _grant(windows, change)
    if txid is not None:
        _tell(windows, change, txid)


def _tell(windows: TwoStepWindows, change: Footprint, txid: int) -> None:
    """Pass an event to the two-step writes."""
    match change:
        case Appeared(path) | Moved(_, path):
            windows.appeared(path, txid)
        case Opened(path):
            windows.opened(path, txid)
        case Closed(path):
            windows.closed(path)
        case _:
            return


def _grant(windows: TwoStepWindows, change: Footprint) -> None:
    """Pass the paths at and below which callers may have gained rights to the two-step writes."""
    match change:
        case Moved(source, path):
            windows.may_be_granted(source)
            windows.may_be_granted(path)
        case Appeared(path) | Vanished(path) | AccessChanged(path) | SubtreeUnknown(path):
            windows.may_be_granted(path)
        case LineTouched(_, path):  # any part of it may have been made
            windows.may_be_granted(path)
        case EverythingUnknown():
            windows.may_be_granted(ROOT)
        case _:
            return


def _forget_place(store: CacheStore, path: str) -> None:
    """Forget a path that was created, removed or replaced, and its parent's status, which has no event."""
    store.forget_subtree(path)
    store.forget_status(parent(path) or ROOT)
