"""Any changes, for property tests: over all paths, or over a few that often meet."""

from hypothesis import strategies as st

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.paths import ROOT


def changes_at(paths: st.SearchStrategy[str]) -> st.SearchStrategy[Change]:
    """Changes of these paths; everything is unknown now and then."""
    single = st.sampled_from([Appeared, Vanished, Touched, Opened, Closed, AccessChanged, SubtreeUnknown])
    moved = st.lists(paths, min_size=2, max_size=2, unique=True).map(lambda pair: Moved(*pair))
    change: st.SearchStrategy[Change] = st.builds(lambda made, path: made(path), single, paths)
    return st.integers(0, 40).flatmap(
        lambda n: st.just(EverythingUnknown("test")) if n == 7 else moved if n % 5 == 4 else change
    )


def in_order(
    changes: st.SearchStrategy[Change], first_txid: int = 1, *, min_size: int = 0, max_size: int = 30
) -> st.SearchStrategy[list[tuple[int, Change]]]:
    """Changes with transaction ids that never go back; one transaction may bring several."""

    def number(steps: list[tuple[int, Change]]) -> list[tuple[int, Change]]:
        txid, numbered = first_txid, []
        for step, change in steps:
            txid += step
            numbered.append((txid, change))
        return numbered

    return st.lists(st.tuples(st.integers(0, 2), changes), min_size=min_size, max_size=max_size).map(number)


names = st.sampled_from(["a", "b", "c"])
few_paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: ROOT + ROOT.join(parts))
any_paths = st.lists(st.text(max_size=4).map(lambda text: "x" + text.replace("/", "").replace("\0", ""))).map(
    lambda parts: ROOT + ROOT.join(parts)
)
