"""A set of subtrees, and whether one of them contains a path."""

from collections import Counter, deque
from collections.abc import Iterator

from nncache.cache.tree import components
from nncache.hadoop.paths import ROOT


class Subtrees:
    """A multiset of subtrees, by their top paths. One walk from the root finds whether one contains a path.

    Invariant U1: `_by_chain[chain(top)]` holds each top with its number of additions, and nothing else.
    """

    __slots__ = ("_by_chain",)

    def __init__(self) -> None:
        self._by_chain: dict[int, Counter[str]] = {}  # tops by the hash of their names, chained

    def add(self, top: str) -> None:
        """Add a canonical path."""
        self._by_chain.setdefault(_chain(top), Counter())[top] += 1

    def remove(self, top: str) -> None:
        """Undo one addition of a path."""
        chain = _chain(top)
        tops = self._by_chain[chain]
        tops[top] -= 1
        if not tops[top]:
            del tops[top]
            if not tops:
                del self._by_chain[chain]

    def cover(self, path: str) -> bool:
        """Whether the path is at or below one of the tops. Costs O(length of the path)."""
        return any(_is_in(self._by_chain.get(chain), path) for chain in _chains(path))

    def counted(self) -> Counter[str]:
        """Return the number of additions of each top; for tests."""
        counted: Counter[str] = Counter()
        for chain, tops in self._by_chain.items():
            assert all(_chain(top) == chain for top in tops)
            counted.update(tops)
        return counted


def _chains(path: str) -> Iterator[int]:
    """Yield the hashes of the path's ancestors, the root first, and of the path."""
    chain = 0
    yield chain
    for name in components(path):
        chain = hash((chain, name))
        yield chain


def _chain(path: str) -> int:
    return deque(_chains(path), maxlen=1).pop()


def _is_in(tops: Counter[str] | None, path: str) -> bool:
    """Whether the path is at or below one of the tops, which are few: they share a hash by chance only."""
    return tops is not None and any(path == top or path.startswith(top.rstrip(ROOT) + ROOT) for top in tops)
