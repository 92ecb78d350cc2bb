r"""Parse Hadoop's glob syntax.

`*` any characters, `?` one, `[a-z]` one of a set, `[^a]` or `[!a]` one outside it, `{a,b}` either, `\c` the character
c. All wildcards stay within one name of the path. Braces with a "/" in an alternative are expanded first.
Names that begin with a dot are matched like others; only sets and literals match a line feed.

Hadoop translates a glob into a regular expression almost character by character, with odd results: `[*]` also matches
a dot, `\d` matches a digit, and a backslash is lost when braces with a "/" are expanded. If Hadoop's code and its
documentation differ about a glob, the glob is refused here, with advice. An accepted glob has the same meaning as for
`hdfs dfs -ls`.
Source: `GlobPattern`, `GlobExpander`, `Globber` and `FileSystem.globStatus`, Hadoop 3.4.1 and 3.5.0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NoReturn, TypeAlias

from nncache.hadoop.errors import HadoopError

MAX_EXPANSIONS: Final = 1000
"""The limit of globs that one glob may expand to, by braces with a "/"; each costs memory."""

MAX_EXPANDED_ITEMS: Final = 2**17
"""The limit of their characters and wildcards in total, with those of intermediate results of the expansion.

An expansion within it takes at most 50 ms of CPU, on the event loop of a proxy that reads a filter.
"""

MAX_DEPTH: Final = 10
"""The maximum nesting of braces."""

_MISREAD_IN_SETS: Final = {
    "*": "Hadoop reads it as a dot or a star",
    "?": "Hadoop reads it as a dot",
    "{": "Hadoop reads it as the start of alternatives",
    "}": "Hadoop reads it as the end of alternatives",
    "[": "Hadoop refuses it",
}


class GlobError(HadoopError, ValueError):
    """The glob is invalid, or Hadoop reads it differently; has the offset, from 0, and the reason."""

    def __init__(self, glob: str, position: int, reason: str) -> None:
        super().__init__(f"{glob}: at position {position}: {reason}")
        self.glob = glob
        self.position = position
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Literal:
    """This character."""

    char: str


@dataclass(frozen=True, slots=True)
class AnyChar:
    """One character except a line feed."""


@dataclass(frozen=True, slots=True)
class AnyString:
    """Any number of characters except a line feed."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character of a set, given by its ranges, both ends inclusive."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def accepts(self, char: str) -> bool:
        """Whether the set matches the character."""
        return any(first <= char <= last for first, last in self.ranges) is not self.negated


@dataclass(frozen=True, slots=True)
class EitherOf:
    """One of several sequences, none of which holds a "/"."""

    alternatives: tuple["Component", ...]


Token: TypeAlias = Literal | AnyChar | AnyString | OneOf | EitherOf
Component: TypeAlias = tuple[Token, ...]
_DOTS: Final[tuple[Component, ...]] = ((Literal("."),), (Literal("."), Literal(".")))


@dataclass(frozen=True, slots=True)
class _Braces:
    """Alternatives as written; at least one holds a "/"."""

    alternatives: tuple["_Sequence", ...]


@dataclass(frozen=True, slots=True)
class _Slash:
    """The separator."""


_SLASH: Final = _Slash()
_SIMPLE: Final[dict[str, AnyString | AnyChar | _Slash]] = {"*": AnyString(), "?": AnyChar(), "/": _SLASH}
_Item: TypeAlias = Token | _Slash | _Braces
_Sequence: TypeAlias = tuple[tuple[_Item, int], ...]  # with the position of each
_Flat: TypeAlias = tuple[tuple[Token | _Slash, int], ...]


def parse_glob(glob: str) -> tuple[tuple[Component, ...], ...]:
    """Return the flat globs that a glob expands to, each as its components; () is the root's.

    Raises GlobError: the glob is invalid, or Hadoop reads it differently.
    """
    reader = _Reader(glob)
    sequence = reader.sequence(depth=0)
    if reader.escapes and reader.escapes[0] < reader.expanded_to:
        reader.fail(
            reader.escapes[0],
            'Hadoop loses a backslash before the end of {...} with a "/" in it: give each alternative as a glob',
        )
    flat: list[tuple[Component, ...]] = []
    for expanded in _expand(reader, sequence):
        if len(flat) == MAX_EXPANSIONS:
            reader.fail(0, f"stands for more than {MAX_EXPANSIONS} globs")
        flat.append(_components(reader, expanded))
    return tuple(flat)


class _Reader:
    """A parser of one glob, from left to right."""

    def __init__(self, glob: str) -> None:
        self._glob = glob
        self._at = 0  # the next character
        self.escapes: list[int] = []  # the positions of backslashes
        self.expanded_to = 0  # the position after the last braces that hold a "/"

    def fail(self, position: int, reason: str) -> NoReturn:
        raise GlobError(self._glob, position, reason)

    def sequence(self, depth: int) -> _Sequence:
        """Parse up to the end, or within braces up to "," or "}", which it does not consume."""
        items: list[tuple[_Item, int]] = []
        while self._at < len(self._glob):
            start = self._at
            char = self._glob[start]
            if depth and char in ",}":
                return tuple(items)
            self._at += 1
            item = self._item(char, start, depth)
            if isinstance(item, _Braces) and len(item.alternatives) == 1:
                items += item.alternatives[0]
            else:
                items.append((item, start))
        return tuple(items)

    def _item(self, char: str, start: int, depth: int) -> _Item:
        match char:
            case "*" | "?" | "/":
                return _SIMPLE[char]
            case "[":
                return self._set(start, depth)
            case "{":
                return self._braces(start, depth)
            case "\\":
                return Literal(self._escaped(start))
            case "\0":
                self.fail(start, "no name holds a NUL")
        return Literal(char)

    def _escaped(self, start: int) -> str:
        if self._at == len(self._glob):
            self.fail(start, "nothing follows the backslash")
        char = self._glob[self._at]
        if char == "/":
            self.fail(start, 'a "/" always separates; it cannot be escaped')
        if char.isalnum() or not char.isascii():
            self.fail(start, f"{char!r} needs no backslash, and Hadoop may read one as a class of characters")
        self.escapes.append(start)
        self._at += 1
        return char

    def _braces(self, start: int, depth: int) -> _Braces | EitherOf:
        if depth == MAX_DEPTH:
            self.fail(start, f"more than {MAX_DEPTH} braces within each other")
        alternatives: list[_Sequence] = []
        while True:
            alternatives.append(self.sequence(depth + 1))
            if self._at == len(self._glob):
                self.fail(start, "no } closes this {")
            self._at += 1
            if self._glob[self._at - 1] == "}":
                either = _either(alternatives)
                if either is not None:
                    return either
                self.expanded_to = self._at
                return _Braces(tuple(alternatives))

    def _set(self, start: int, depth: int) -> OneOf:
        negated = self._glob.startswith(("^", "!"), self._at)
        self._at += negated
        first_member = self._at
        ranges: list[tuple[str, str]] = []
        while not self._glob.startswith("]", self._at):
            low = self._member(start, depth, is_first=self._at == first_member)
            high = low
            if self._glob.startswith("-", self._at) and not self._glob.startswith("-]", self._at):
                self._at += 1
                high = self._member(start, depth, is_first=False)
            if high < low:
                self.fail(start, f"the range {low}-{high} is empty")
            ranges.append((low, high))
        if self._at == first_member:
            self.fail(start, "an empty set; a ] in a set is written \\]")
        self._at += 1
        return OneOf(tuple(ranges), negated)

    def _member(self, start: int, depth: int, *, is_first: bool) -> str:
        position = self._at
        if position == len(self._glob) or self._glob[position] == "/":
            self.fail(start, "no ] closes this [")
        char = self._glob[position]
        self._at += 1
        if char == "\\":
            return self._escaped(position)
        if char in _MISREAD_IN_SETS:
            self.fail(position, f"a {char} in a set is written \\{char}: {_MISREAD_IN_SETS[char]}")
        if char == "," and depth:
            self.fail(
                position, "a comma in a set within {...} is written \\,: Hadoop ends the alternative there"
            )
        if char == "-" and not is_first and not self._glob.startswith("]", self._at):
            self.fail(position, "a - that is no range stands first or last in its set")
        return char


def _either(alternatives: list[_Sequence]) -> EitherOf | None:
    """Return the alternatives as one token; None if an alternative holds a "/"."""
    within: list[Component] = []
    for alternative in alternatives:
        tokens: list[Token] = []
        for item, _ in alternative:
            if isinstance(item, _Slash | _Braces):
                return None
            tokens.append(item)
        within.append(tuple(tokens))
    return EitherOf(tuple(within))


def _expand(reader: _Reader, sequence: _Sequence) -> Iterator[_Flat]:
    """Yield the globs in which alternatives replace braces that hold a "/", the leftmost first."""
    waiting: list[tuple[_Flat, _Sequence]] = [((), sequence)]  # the flat beginning, and the rest
    left = MAX_EXPANDED_ITEMS
    while waiting:
        begun, rest = waiting.pop()
        flat = [*begun]
        for at, (item, position) in enumerate(rest):
            if isinstance(item, _Braces):
                behind = rest[at + 1 :]
                left -= sum(len(flat) + len(each) + len(behind) for each in item.alternatives)
                if left < 0:
                    reader.fail(0, f"stands for globs of more than {MAX_EXPANDED_ITEMS} characters together")
                waiting += ((tuple(flat), each + behind) for each in reversed(item.alternatives))
                break
            flat.append((item, position))
        else:
            yield tuple(flat)


def _components(reader: _Reader, sequence: _Flat) -> tuple[Component, ...]:
    if not sequence or not isinstance(sequence[0][0], _Slash):
        reader.fail(sequence[0][1] if sequence else 0, "a glob begins with a /")
    if len(sequence) > 1 and isinstance(sequence[1][0], _Slash):
        reader.fail(sequence[1][1], "Hadoop takes the name after a leading // for a host")
    components: list[list[Token]] = []
    starts: list[int] = []
    for item, position in sequence:
        if isinstance(item, _Slash):
            components.append([])
            starts.append(position + 1)
        else:
            components[-1].append(item)
    for start, component in zip(starts, components, strict=True):
        if tuple(component) in _DOTS:
            reader.fail(start, "a glob names its path without . and .. (Hadoop would resolve them)")
    return tuple(tuple(component) for component in components if component)


def first_wildcard_level(glob: str) -> int | None:
    """Return the level of a glob's first wildcard, 1 for the names below the root; None if there is no wildcard.

    `*`, `?` and sets are wildcards. Braces stand for one glob per alternative: the highest wildcard of all counts.

    Raises GlobError: it is invalid.
    """
    levels = (
        level
        for components in parse_glob(glob)
        for level, component in enumerate(components, start=1)
        if not _is_plain(component)
    )
    return min(levels, default=None)


def _is_plain(component: Component) -> bool:
    return all(
        isinstance(token, Literal)
        or (isinstance(token, EitherOf) and all(map(_is_plain, token.alternatives)))
        for token in component
    )


def pitfall(glob: str) -> str:
    """Return a warning about a valid glob that does not match what it seems to match; "" if there is none.

    Raises GlobError: it is invalid.
    """
    if any(_is_doubled(component) for components in parse_glob(glob) for component in components):
        return (
            f"{glob}: ** stays within one level, as * does in Hadoop: give a glob for each depth, "
            f"such as {glob.replace('**', '*')} and {glob.replace('**', '*/*')}"
        )
    return ""


def _is_doubled(component: Component) -> bool:
    return any(isinstance(a, AnyString) and isinstance(b, AnyString) for a, b in pairwise(component))
