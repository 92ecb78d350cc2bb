"""Match canonical paths against many globs at once.

All globs of a set share one automaton. Its states are built on demand and cached, so a match costs one dictionary
lookup per character of the path, for ten globs as for a thousand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.glob_syntax import (
    AnyChar,
    AnyString,
    Component,
    EitherOf,
    GlobError,
    Literal,
    OneOf,
    Token,
    parse_glob,
)

__all__ = ["Glob", "GlobError", "GlobSet", "compile_glob"]

DEFAULT_MAX_STEPS: Final = 100_000
"""Cached steps of a set's automaton; about 100 bytes each, and 500 more if a step creates a state."""

DEFAULT_MAX_NODES: Final = 500_000
"""Nodes in the cached states, and names of globs that end there; at most 64 bytes each. A path can create a state for
each of its characters, each with as many nodes as all globs have."""


@dataclass(frozen=True, slots=True)
class Glob:
    """One parsed glob."""

    text: str
    alternatives: tuple[tuple[Component, ...], ...]  # flat globs, as components; () is the root's

    def matches(self, path: str) -> bool:
        """Whether a canonical path matches. For repeated use, a `GlobSet` is much cheaper."""
        return GlobSet({"": self}).matches(path)


def compile_glob(glob: str) -> Glob:
    """Parse a glob.

    Raises:
        GlobError: it is invalid, or Hadoop would misread it (see `nncache.hadoop.glob_syntax`); says where and why.
    """
    return Glob(glob, parse_glob(glob))


class _Node:
    """A position in the globs; globs share the nodes of their common prefixes."""

    __slots__ = ("either", "jumps", "literals", "loops", "names", "string", "tests")

    def __init__(self, *, loops: bool = False) -> None:
        self.loops = loops  # stays here on any character but "/" and a line feed
        self.literals: dict[str, _Node] = {}  # by the next character
        self.tests = _NO_TESTS  # by the test that the next character must pass; never matches "/"
        self.string: _Node | None = None  # after a "*"
        self.either = _NO_EITHER  # after alternatives; reached by the jumps of their ends
        self.jumps: tuple[_Node, ...] = ()  # reached without a character
        self.names: frozenset[str] = frozenset()  # the globs that end here


_NO_TESTS: Final[dict[AnyChar | OneOf, _Node]] = {}
"""Shared by most nodes, which have none: thousands of globs have up to a hundred thousand nodes."""

_NO_EITHER: Final[dict[EitherOf, _Node]] = {}

_NO_NAMES: Final[frozenset[str]] = frozenset()
"""Shared by most states: an empty set of its own would take 216 bytes."""


class _State:
    """The nodes that a prefix of a path reaches."""

    __slots__ = ("names", "nodes", "stays", "steps")

    def __init__(self, nodes: frozenset[_Node], *, stays: bool) -> None:
        self.nodes = nodes
        self.stays = stays  # any character but "/" and a line feed leads back to it
        self.steps: dict[str, _State] = {}  # by the next character
        self.names = frozenset(name for node in nodes for name in node.names) or _NO_NAMES

    @property
    def size(self) -> int:
        """The number of its nodes and names."""
        return len(self.nodes) + len(self.names)


class GlobSet:
    """A set of named globs that are matched together.

    Invariants:
        I1  A cached step leads to the state of exactly the nodes that its character leads to.
        I2  At most `max_steps` steps are cached.
        I3  The cached states except the last one hold fewer than `max_nodes` nodes and names.
    """

    def __init__(
        self,
        globs: Mapping[str, str | Glob],
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_nodes: int = DEFAULT_MAX_NODES,
    ) -> None:
        """Build the set from globs by name. Raises GlobError: a text is not a valid glob."""
        self._states: dict[frozenset[_Node], _State] = {}  # every state that exists
        self._max_steps = max_steps
        self._max_nodes = max_nodes
        self.remembered_steps = 0  # steps in the automaton now
        self.remembered_nodes = 0  # nodes and names in its states now
        self.computed_steps = 0  # steps computed since the start
        self.visited_nodes = 0  # nodes visited to compute them, since the start
        self.forgotten = 0  # times that the full automaton was cleared
        self._root_names: frozenset[str] = frozenset()  # the globs that match "/"
        self._first = _Node()  # before the first "/"
        self._globs = dict(globs)
        for name, glob in globs.items():
            self._add(name, _read(glob))
        self._asked_last = "/"
        self._names_last = self._root_names
        self._start = self._state((self._first,))
        self._dead = self._state(())

    def __del__(self) -> None:
        """Unlink the states: their steps form reference cycles, and a daemon does not collect old cycles."""
        for state in self._states.values():
            state.steps.clear()

    def change_to(self, globs: Mapping[str, str | Glob]) -> None:
        """Replace the globs. The cost depends only on the globs that are added or removed.

        The automaton is cleared.

        Raises GlobError: a text is not a valid glob; the set is unchanged.
        """
        same = {name for name, glob in self._globs.items() if globs.get(name) == glob}
        new = {name: _read(glob) for name, glob in globs.items() if name not in same}
        for name in self._globs.keys() - same:
            self._remove(name, _read(self._globs[name]))
        for name, glob in new.items():
            self._add(name, glob)
        self._globs = dict(globs)
        self._restart()

    def matches(self, path: str) -> bool:
        """Whether some glob matches this canonical path."""
        return bool(self.names_matching(path))

    def names_matching(self, path: str) -> frozenset[str]:
        """Return the names of all globs that match this canonical path."""
        if path != self._asked_last:  # repeated calls for one path are frequent
            self._asked_last = path
            self._names_last = self._root_names if path == "/" else self._walk_to(path).names
        return self._names_last

    def may_match_below(self, path: str) -> bool:
        """Whether some glob could match a path below this canonical path."""
        return self._walk(path if path == "/" else path + "/") is not self._dead

    def may_concern(self, path: str) -> bool:
        """Whether some glob matches this canonical path or its parent, or could match a path below it.

        The creation or removal of a path can change its own status, its parent's, and all below it.
        """
        if path == "/":
            return self.matches(path) or self.may_match_below(path)
        last_slash = path.rindex("/")
        above = self._walk(path[:last_slash])
        if above is self._dead:
            return False
        state = self._walk(path[last_slash:], above)
        names_above = above.names if last_slash else self._root_names
        return bool(names_above or state.names) or self._walk("/", state) is not self._dead

    def lowest_concern(self, path: str) -> str | None:
        """Return the lowest of a canonical path and its ancestors that `may_concern`; None if even the root does not.

        All its ancestors `may_concern` as well. One walk covers all of them: O(length).
        """
        if not self.may_concern("/"):
            return None
        state, names_above = self._start, self._root_names
        length = start = 0  # the length of the lowest so far; the start of the next name, with its slash
        while start < len(path) and path != "/":
            end = path.find("/", start + 1)
            end = len(path) if end < 0 else end
            state = self._walk(path[start:end], state)
            if not (names_above or state.names or self._walk("/", state) is not self._dead):
                break
            names_above = state.names
            length = start = end
        return path[:length] or "/"

    def _walk(self, path: str, state: _State | None = None) -> _State:
        """Return the state after a path, from a state or from the start. The dead state has no way out."""
        state = state or self._start
        dead = self._dead
        for char in path:
            if state is dead:
                break
            state = state.steps.get(char) or self._step(state, char)
        return state

    def _walk_to(self, path: str) -> _State:
        """Return the state after a canonical path; the walk ends as soon as the rest of the last name cannot matter."""
        begin = path.rindex("/") + 1
        state, last = self._walk(path[:begin]), path[begin:]
        if "\n" in last:
            return self._walk(last, state)
        for char in last:
            if state.stays:
                break
            state = state.steps.get(char) or self._step(state, char)
        return state

    def _step(self, state: _State, char: str) -> _State:
        if self.remembered_steps >= self._max_steps or self.remembered_nodes >= self._max_nodes:
            self._forget()
        self.remembered_steps += 1
        self.computed_steps += 1
        self.visited_nodes += len(state.nodes)
        is_any = char not in "/\n"
        reached: list[_Node] = []
        for node in state.nodes:
            if char in node.literals:
                reached.append(node.literals[char])
            if is_any and node.loops:
                reached.append(node)
            if char != "/":
                reached += (
                    after
                    for test, after in node.tests.items()
                    if (test.accepts(char) if isinstance(test, OneOf) else is_any)
                )
        following = self._state(reached)
        state.steps[char] = following
        return following

    def _state(self, nodes: Iterable[_Node]) -> _State:
        """Return the state of these nodes and all nodes that they reach without a character."""
        key = _closure(nodes)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(key, stays=_stays(key))
            self.remembered_nodes += state.size
        return state

    def _forget(self) -> None:
        """Clear the automaton. A walk in progress continues from its current state."""
        self._restart()
        self.forgotten += 1

    def _restart(self) -> None:
        for state in self._states.values():
            state.steps.clear()
        self._states = {self._start.nodes: self._start, self._dead.nodes: self._dead}
        self.remembered_steps = 0
        self.remembered_nodes = self._start.size + self._dead.size
        self._asked_last, self._names_last = "/", self._root_names

    def _add(self, name: str, glob: Glob) -> None:
        for components in glob.alternatives:
            if components:
                _follow(self._first, _tokens(components)).names |= {name}
            else:
                self._root_names |= {name}

    def _remove(self, name: str, glob: Glob) -> None:
        for components in dict.fromkeys(glob.alternatives):
            if components:
                tokens = _tokens(components)
                _follow(self._first, tokens).names -= {name}
                _prune(self._first, tokens)
            else:
                self._root_names -= {name}


def _closure(nodes: Iterable[_Node]) -> frozenset[_Node]:
    """Return the nodes, and all nodes that they reach without a character."""
    found: set[_Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.jumps
    return frozenset(found)


def _stays(nodes: frozenset[_Node]) -> bool:
    """Whether each character except "/" and a line feed leads from these nodes to themselves, as after a final "*"."""
    if any(node.tests or node.literals.keys() - {"/"} for node in nodes):
        return False
    return _closure(node for node in nodes if node.loops) == nodes


def _tokens(components: tuple[Component, ...]) -> Component:
    """Return a flat glob as one sequence, with a "/" before each component."""
    return tuple(token for component in components for token in (Literal("/"), *component))


def _prune(first: _Node, tokens: Component) -> None:
    """Remove the nodes of a removed glob that no other glob needs, from its end back to this node."""
    way = [first]
    for token in tokens:
        way.append(_after(way[-1], token))
    for token, node in zip(reversed(tokens), reversed(way[:-1]), strict=True):
        after = _after(node, token)
        if after.names or after.literals or after.tests or after.jumps:
            break
        match token:
            case Literal(char):
                del node.literals[char]
            case AnyString():
                node.string = None
                _unlink(node, after)
            case EitherOf(alternatives):
                del node.either[token]
                for alternative in alternatives:
                    _unlink(_follow(node, alternative), after)
                    _prune(node, alternative)
            case _:
                del node.tests[token]


def _unlink(node: _Node, after: _Node) -> None:
    """Remove one jump; equal alternatives have one each."""
    at = node.jumps.index(after)
    node.jumps = node.jumps[:at] + node.jumps[at + 1 :]


def _follow(node: _Node, tokens: Component) -> _Node:
    for token in tokens:
        node = _after(node, token)
    return node


def _after(node: _Node, token: Token) -> _Node:
    """Return the node after a token; create it if it is missing."""
    match token:
        case Literal(char):
            return _literally(node, char)
        case AnyString():
            if node.string is None:
                node.string = _Node(loops=True)
                node.jumps += (node.string,)
            return node.string
        case EitherOf(alternatives):
            behind = node.either.get(token)
            if behind is None:
                node.either = node.either or {}
                behind = node.either[token] = _Node()
                for alternative in alternatives:
                    _follow(node, alternative).jumps += (behind,)
            return behind
        case _:
            node.tests = node.tests or {}
            return node.tests.setdefault(token, _Node())


def _literally(node: _Node, char: str) -> _Node:
    """Return the node after a character; create it if it is missing."""
    after = node.literals.get(char)
    if after is None:
        after = node.literals[char] = _Node()
    return after


def _read(glob: str | Glob) -> Glob:
    return compile_glob(glob) if isinstance(glob, str) else glob
