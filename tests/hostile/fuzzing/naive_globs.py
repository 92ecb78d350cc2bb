"""Match a path against a glob, component by component, without an automaton."""

from typing import assert_never

from nncache.hadoop.glob_syntax import AnyChar, AnyString, Component, EitherOf, Literal, OneOf, Token
from nncache.hadoop.globs import Glob


def matches(glob: Glob, path: str) -> bool:
    """Whether the glob matches a canonical path."""
    names = _names(path)
    return any(len(flat) == len(names) and all(map(_is_of, flat, names)) for flat in glob.alternatives)


def may_match_below(glob: Glob, path: str) -> bool:
    """Whether the glob has more components than a canonical path that matches its first ones."""
    names = _names(path)
    return any(len(flat) > len(names) and all(map(_is_of, flat, names)) for flat in glob.alternatives)


def _names(path: str) -> list[str]:
    return [] if path == "/" else path[1:].split("/")


def _is_of(component: Component, name: str) -> bool:
    return len(name) in _ends(component, name, {0})


def _ends(component: Component, name: str, starts: set[int]) -> set[int]:
    """Return the positions where the tokens may end if they begin at one of these positions."""
    for token in component:
        starts = {end for start in starts for end in _ends_of(token, name, start)}
    return starts


def _ends_of(token: Token, name: str, start: int) -> set[int]:
    rest = name[start:]
    match token:
        case EitherOf(alternatives):
            return {end for each in alternatives for end in _ends(each, name, {start})}
        case AnyString():
            return {start + length for length in range(len(rest.partition("\n")[0]) + 1)}
        case Literal(char):
            is_next = rest.startswith(char)
        case AnyChar():
            is_next = rest[:1] not in {"", "\n"}
        case OneOf():
            is_next = bool(rest) and token.accepts(rest[0])
        case _:
            assert_never(token)
    return {start + 1} if is_next else set()
