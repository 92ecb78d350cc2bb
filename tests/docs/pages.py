"""The documentation pages and their code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.tree import ROOT

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def shown(page: Path) -> str:
    """Return the path relative to the repository, for failure messages."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block with its language, "" for none, and its text."""

    language: str
    text: str


def blocks(page: Path) -> tuple[Block, ...]:
    """Return the fenced blocks of a page."""
    return tuple(Block(*found) for found in _FENCED.findall(page.read_text(encoding="utf-8")))


def inline(page: Path) -> tuple[str, ...]:
    """Return the texts in backticks outside fenced blocks."""
    return tuple(_INLINE.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))))


def shell_lines(page: Path) -> Iterator[str]:
    """Yield the lines of shell blocks; a continued line is joined."""
    for block in blocks(page):
        if block.language in {"", "sh"}:
            yield from block.text.replace("\\\n", " ").splitlines()
