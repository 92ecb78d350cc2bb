"""What is fuzzed, and what must hold of any bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus"
"""Inputs that are kept: a directory for each target that has some."""


class BrokenInvariantError(AssertionError):
    """Some bytes make a parser do what it must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser.

    Attributes:
        name: short, for people, command lines and directories.
        invariant: what holds of any bytes, in a sentence.
        check: parses some bytes; raises whatever the parser raises beyond its own errors, and BrokenInvariantError.
        seeds: bytes from which to start; the first ones show the form of the input.
        modules: of the product, whose branches lead the way to new inputs.
        max_bytes: length of the longest input.
        short_executions: how many inputs the short form tries.
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
    """See that an invariant holds.

    Raises:
        BrokenInvariantError: it does not.
    """
    if not condition:
        raise BrokenInvariantError(what)


def text_of(data: bytes) -> str:
    """Return the bytes as a server hands on a request line: what is no UTF-8 as surrogate escapes."""
    return data.decode("utf-8", "surrogateescape")
