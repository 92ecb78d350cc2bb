"""Whether a path lies at or below one of many."""

from collections import Counter, deque
from collections.abc import Iterator

from nncache.cache.tree import components
from nncache.hadoop.paths import ROOT


class Subtrees:
    """Tops of subtrees, counted; one walk from the root tells whether some of them holds a path.

    Invariant U1: `_by_chain[chain(top)]` has every top, with how often it was added, and nothing else.
    """

    __slots__ = ("_by_chain",)

    def __init__(self) -> None:
        self._by_chain: dict[int, Counter[str]] = {}  # tops by the hash of their names, chained

    def add(self, top: str) -> None:
        """Count a canonical path once more."""
        self._by_chain.setdefault(_chain(top), Counter())[top] += 1

    def remove(self, top: str) -> None:
        """Count a path that was added once less."""
        chain = _chain(top)
        tops = self._by_chain[chain]
        tops[top] -= 1
        if not tops[top]:
            del tops[top]
            if not tops:
                del self._by_chain[chain]

    def cover(self, path: str) -> bool:
        """Whether the path is one of the tops, or below one: O(length of the path)."""
        return any(_is_in(self._by_chain.get(chain), path) for chain in _chains(path))

    def counted(self) -> Counter[str]:
        """Return how often each top was added; for tests."""
        counted: Counter[str] = Counter()
        for chain, tops in self._by_chain.items():
            assert all(_chain(top) == chain for top in tops)
            counted.update(tops)
        return counted


def _chains(path: str) -> Iterator[int]:
    """Give the hashes of the path's ancestors, the root first, and of the path."""
    chain = 0
    yield chain
    for name in components(path):
        chain = hash((chain, name))
        yield chain


def _chain(path: str) -> int:
    return deque(_chains(path), maxlen=1).pop()


def _is_in(tops: Counter[str] | None, path: str) -> bool:
    """Whether the path is at or below one of a few; two tops have one hash by chance alone."""
    return tops is not None and any(path == top or path.startswith(top.rstrip(ROOT) + ROOT) for top in tops)
