"""What every file owes its reader."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.tree import ROOMS, ROOT, shown, sources

MAX_LINES = 400

EVERYTHING = sources(*ROOMS, "tests")
SUPPRESSION = re.compile(r"#\s*(noqa\b|type:\s*ignore\b)(?P<rest>.*)$")
WITH_REASON = re.compile(r"^(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[a-z-]+(?:,\s*[a-z-]+)*\])\s*(?:-|#)\s*\S+")


@pytest.mark.parametrize("path", EVERYTHING, ids=shown)
def test_no_file_outgrows_its_noun(path: Path) -> None:
    """A file beyond 400 lines holds more than one thing: split it."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: str) -> None:
    """Each room's `__init__.py` begins with a docstring."""
    assert ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", EVERYTHING, ids=shown)
def test_a_silenced_check_says_which_and_why(path: Path) -> None:
    """`# noqa: CODE - why` and `# type: ignore[code]  # why`, on the line itself."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = SUPPRESSION.search(line)
        if found is not None and path != Path(__file__):
            assert WITH_REASON.match(found["rest"]), f"{shown(path)}:{number}: {line.strip()}"


@pytest.mark.parametrize("path", EVERYTHING, ids=shown)
def test_tasks_belong_to_a_group(path: Path) -> None:
    """Nobody starts a task on the event loop itself: nothing would wait for it or see it fail."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="create_task" | "ensure_future")):
                name = ast.unparse(owner)
                assert not name.endswith(("loop", "loop()", "asyncio")), (
                    f"{shown(path)}:{node.lineno}: {name}"
                )


def test_every_test_directory_is_a_package() -> None:
    """`tests/proxy/` without an `__init__.py` in it and above would shadow the room of that name."""
    bare = {shown(path.parent) for path in sources("tests") if not (path.parent / "__init__.py").exists()}
    assert not bare
