"""A fuzz target, with what must hold for any bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus"
"""The kept inputs: a directory for each target that has some."""


class BrokenInvariantError(AssertionError):
    """Some bytes violate a parser's invariant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser.

    Attributes:
        name: short, for people, command lines and directories.
        invariant: what holds for any bytes, in a sentence.
        check: parses some bytes; raises BrokenInvariantError, and errors that are not the parser's own.
        seeds: initial inputs; the first ones show the form of the input.
        modules: of the product; their branches guide the search for new inputs.
        max_bytes: length of the longest input.
        short_executions: number of inputs that the short form tries.
    """

    name: str
    invariant: str
    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    modules: tuple[str, ...]
    max_bytes: int = 1024
    short_executions: int = 1500

    def kept(self) -> tuple[bytes, ...]:
        """Return the inputs of the corpus, in the order of their names."""
        return tuple(path.read_bytes() for path in sorted((CORPUS / self.name).glob("*")))


def hold(condition: object, what: str) -> None:
    """Check an invariant.

    Raises:
        BrokenInvariantError: it does not hold.
    """
    if not condition:
        raise BrokenInvariantError(what)


def text_of(data: bytes) -> str:
    """Return the bytes as a server forwards a request line: invalid UTF-8 becomes surrogate escapes."""
    return data.decode("utf-8", "surrogateescape")
