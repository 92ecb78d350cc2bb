"""The keys of a /status document, and the keys that docs/status.md describes."""

import re
from collections.abc import Iterator

from tests.house.tree import ROOT


def keys_of(value: object, at: str = "") -> Iterator[str]:
    """Yield the dotted path of each key, as docs/status.md writes it."""
    match value:
        case dict():
            for key, each in value.items():
                path = f"{at}.{key}" if at else key
                yield path
                if path != "settings":
                    yield from keys_of(each, path)
        case list():
            for each in value:
                yield from keys_of(each, f"{at}[]")


def described(heading: str) -> set[str]:
    """Return the keys described by the list under a heading."""
    text = (ROOT / "docs/status.md").read_text(encoding="utf-8")
    return {
        key
        for line in text.partition(f"## {heading}")[2].partition("\n## ")[0].splitlines()
        if line.startswith("- ")
        for key in re.findall(r"`([^`]+)`", line.partition(": ")[0])
    }
