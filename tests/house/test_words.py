"""Texts for operators and users are plain technical English, without the worst words of the past."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, parsed, shown, sources

UNWANTED = {
    "whoever": "name the process or the user",
    "anew": "again; or: restart, renew",
    "reckoned": "estimated, counted",
    "farewell": "close",
    "among friends": "restricted",
    "nobody": "no client, no caller",
    "somebody": "another client, another process",
    "a fault of ours": "an internal error",
}
"""Unwanted words, with their replacements."""
PHRASES = re.compile(
    r"comes? of it\b|\bof before\b|stands (still|behind)|takes? note\b|\bas whom\b|\blives on\b",
    re.IGNORECASE,
)
"""Phrases that a docstring or message must not contain: name the outcome, the previous value, the user."""

IN_NAMES = {"told", "said", "wish", "scene", "world", "vault"}
"""Words that no name may contain, since they do not say what a value is."""

READ_BY_USERS = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "track-record.md"),
)
LOGGED = {"debug", "info", "warning", "error", "exception", "critical", "warn"}


def unwanted_in(text: str) -> list[str]:
    """Return the unwanted words of a text, each with its replacement."""
    return [
        f"{word}: {better}"
        for word, better in UNWANTED.items()
        if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    ]


def test_a_class_name_has_one_meaning() -> None:
    """A reader who searches for a public class finds one definition."""
    classes: dict[str, list[str]] = {}
    for path in sources("nncache"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(shown(path))
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


@pytest.mark.parametrize("page", READ_BY_USERS)
def test_pages_are_plain(page: str) -> None:
    """Names of metrics are exempt: an underscore makes them one word."""
    assert unwanted_in((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("place", ["nncache", "tools"])
def test_docstrings_and_messages_are_plain(place: str) -> None:
    """Strings of one word are exempt, such as the user `nobody`."""
    found = [
        (path.relative_to(ROOT), node.lineno, words)
        for path in sources(place)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if (words := unwanted_in(node.value))
    ]
    assert found == []


def log_lines() -> Iterator[tuple[Path, int, str]]:
    """Yield the first argument of each logging call."""
    for path in sources("nncache"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                if node.func.attr in LOGGED and isinstance(first, ast.Constant | ast.JoinedStr):
                    yield path.relative_to(ROOT), node.lineno, ast.unparse(first)


def test_log_lines_are_plain() -> None:
    """They say what happened and to which object. They start in lower case, except with a name."""
    lines = list(log_lines())
    assert len(lines) > 30
    assert [(path, number, found) for path, number, text in lines if (found := unwanted_in(text))] == []
    begun = [
        (path, number, text)
        for path, number, text in lines
        if re.match(r"f?['\"](%s)?[A-Z][a-z]", text) and "ZooKeeper" not in text[:14]
    ]
    assert begun == []


@pytest.mark.parametrize("place", ["nncache", "tools"])
def test_prose_keeps_to_plain_phrases(place: str) -> None:
    """Docstrings name the thing: the outcome, the previous one, the user."""
    found = [
        (path.relative_to(ROOT), node.lineno, phrase[0])
        for path in sources(place)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (phrase := PHRASES.search(node.value))
    ]
    assert found == []


@pytest.mark.parametrize("place", ["nncache", "tools"])
def test_names_say_what_the_value_is(place: str) -> None:
    """Names use terms that an engineer would search for, such as reply, message or reported change."""
    found = [
        (path.relative_to(ROOT), getattr(node, "lineno", 0), name)
        for path in sources(place)
        for node in ast.walk(parsed(path))
        for field in ("id", "attr", "arg", "name")
        if isinstance(name := getattr(node, field, None), str)
        if not IN_NAMES.isdisjoint(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
    ]
    assert found == []
