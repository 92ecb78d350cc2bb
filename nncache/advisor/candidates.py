"""Find a few globs that match repeatedly read paths. (nncache/advisor/candidates.py)

Pure. A skeleton is a path in which numbers and ids are replaced by `VARIABLE`: millions of paths have few skeletons. In
a glob, `VARIABLE` becomes `*`. If many siblings are read alike, such as the directories of users, their name becomes
`*` too, unless the glob would then match too many other paths.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from nncache.hadoop.globs import GlobError, compile_glob
from nncache.invalidation.filters.admission import too_general
from nncache.invalidation.filters.settings import FilterSettings

VARIABLE: Final = "\x01"
"""The placeholder in a skeleton."""

SIBLINGS: Final = 3
"""The number of names that become `*` if they are read alike."""
LOSS: Final = 0.05
"""The limit of additional paths of a merged glob, as a share of the paths of its parts."""
REPEATED: Final = 0.5
"""The least share of reads that are repeats: a miss of a file costs two calls."""


@dataclass(frozen=True, slots=True)
class SkeletonReads:
    """The reads of the paths of one skeleton.

    Attributes:
        reads: reads of a status.
        repeats: those after the first one of the same path by the same user within the same five minutes.
        paths: the number of distinct paths.
    """

    skeleton: str
    reads: int
    repeats: int
    paths: int


@dataclass(frozen=True, slots=True)
class Some:
    """A name of a glob with one `*`."""

    prefix: str
    suffix: str

    def matches(self, name: str) -> bool:
        """Whether it matches a skeleton's name, whatever stands for the placeholder."""
        if len(name) < len(self.prefix) + len(self.suffix):
            return False
        return name.startswith(self.prefix) and name.endswith(self.suffix)


Part: TypeAlias = str | Some
Shape: TypeAlias = tuple[Part, ...]
ANY: Final = Some("", "")


@dataclass(slots=True)
class _Node:
    children: dict[str, "_Node"] = field(default_factory=dict)
    seen: SkeletonReads | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A glob that may be worth a filter, and the skeletons that it matches."""

    glob: str
    shape: Shape
    skeletons: tuple[SkeletonReads, ...]

    @property
    def reads(self) -> int:
        """The number of reads of its paths."""
        return sum(each.reads for each in self.skeletons)

    @property
    def repeats(self) -> int:
        """The approximate number of reads that may be answered from memory."""
        return sum(each.repeats for each in self.skeletons)

    @property
    def paths(self) -> int:
        """The number of its paths."""
        return sum(each.paths for each in self.skeletons)


class Finder:
    """Finds globs for skeletons."""

    def __init__(self, seen: Iterable[SkeletonReads], limits: FilterSettings, least_repeats: int) -> None:
        """Take the skeletons, each once; a filter needs at least `least_repeats` repeats to be worth its place."""
        self._limits = limits
        self._least = least_repeats
        self._root = _Node()
        for each in seen:
            node = self._root
            for name in _names(each.skeleton):
                node = node.children.setdefault(name, _Node())
            node.seen = each
        self.refused: dict[
            str, str
        ] = {}  # globs that are worth a filter but are not admitted, with the reason

    def find(self, most: int) -> list[Candidate]:
        """Return at most `most` candidates, the one with most repeats first; none has a skeleton of another."""
        found = {shape: self._candidate(shape) for shape in self._first_shapes()}
        worthy = {shape: each for shape, each in found.items() if self._is_worth(each)}
        for level in range(max((len(shape) for shape in worthy), default=0) - 1, 0, -1):
            worthy = self._merged(worthy, level)
        chosen: list[Candidate] = []
        taken: set[str] = set()
        for each in sorted(worthy.values(), key=lambda one: (-one.repeats, one.glob)):
            left = tuple(seen for seen in each.skeletons if seen.skeleton not in taken)
            rest = Candidate(each.glob, each.shape, left)
            if len(chosen) < most and self._is_worth(rest) and self._is_admitted(each.glob):
                chosen.append(rest)
                taken.update(seen.skeleton for seen in left)
        return chosen

    def _is_worth(self, each: Candidate) -> bool:
        return each.repeats >= self._least and each.repeats >= REPEATED * each.reads

    def _is_admitted(self, glob: str) -> bool:
        try:
            compile_glob(glob)
            reason = too_general(glob, self._limits)
        except GlobError as error:
            reason = str(error)
        if reason:
            self.refused[glob] = reason
        return not reason

    def _candidate(self, shape: Shape) -> Candidate:
        return Candidate(glob_of(shape), shape, tuple(self._matched(self._root, shape)))

    def _first_shapes(self) -> Iterator[Shape]:
        """Yield the shape of each skeleton, each once."""
        yield from dict.fromkeys(
            tuple(map(part_of, _names(seen.skeleton)))
            for seen in self._all(self._root)
            if seen.repeats >= self._least / 100
        )

    def _all(self, node: _Node) -> Iterator[SkeletonReads]:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node.seen is not None:
                yield node.seen
            waiting += node.children.values()

    def _matched(self, node: _Node, shape: Shape) -> Iterator[SkeletonReads]:
        nodes = [node]
        for part in shape:
            if isinstance(part, str):
                nodes = [found for each in nodes if (found := each.children.get(part)) is not None]
            else:
                nodes = [
                    child for each in nodes for name, child in each.children.items() if part.matches(name)
                ]
        return (each.seen for each in nodes if each.seen is not None)

    def _merged(self, worthy: Mapping[Shape, Candidate], level: int) -> dict[Shape, Candidate]:
        """Merge candidates: replace the names of one level by `*` if this matches few additional paths."""
        alike: dict[Shape, list[Candidate]] = {}
        kept: dict[Shape, Candidate] = {}
        for shape, each in worthy.items():
            if level < len(shape) and shape[level] != ANY:
                alike.setdefault((*shape[:level], ANY, *shape[level + 1 :]), []).append(each)
            else:
                kept[shape] = each
        for shape, parts in alike.items():
            whole = self._whole(shape, parts)
            if whole is None:
                kept |= {each.shape: each for each in parts}
            else:
                kept[shape] = whole
        return kept

    def _whole(self, shape: Shape, parts: list[Candidate]) -> Candidate | None:
        if len(parts) < SIBLINGS or too_general(glob_of(shape), self._limits):
            return None
        whole = self._candidate(shape)
        covered = {seen.skeleton: seen.paths for each in parts for seen in each.skeletons}
        is_close = whole.paths <= (1 + LOSS) * sum(covered.values())
        return whole if is_close and self._is_worth(whole) else None


def part_of(name: str) -> Part:
    """Return the part of a glob that matches a name of a skeleton."""
    prefix, varies, rest = name.partition(VARIABLE)
    return Some(prefix, rest.rpartition(VARIABLE)[2]) if varies else name


def glob_of(shape: Shape) -> str:
    """Return the glob of a shape, in Hadoop's syntax."""
    return "/" + "/".join(
        _escaped(part) if isinstance(part, str) else f"{_escaped(part.prefix)}*{_escaped(part.suffix)}"
        for part in shape
    )


def _escaped(name: str) -> str:
    return "".join("\\" + char if char in "\\*?[]{}" else char for char in name)


def _names(skeleton: str) -> list[str]:
    return [name for name in skeleton.split("/") if name]
