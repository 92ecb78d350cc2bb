"""Rules for the form of every file. Each test names all files that break its rule."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, PLACES, ROOT, parsed, shown, sources, text_of

EVERYTHING = sources(*PLACES)
SUPPRESSION = re.compile(r"#\s*(noqa\b|type:\s*ignore\b)(?P<rest>.*)$")
WITH_REASON = re.compile(r"^(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[a-z-]+(?:,\s*[a-z-]+)*\])\s*(?:-|#)\s*\S+")

POSSESSIVE = re.compile(r"[^\\][*+?}]\+|\(\?>")
CHARACTERS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")

ASSIGNED = re.compile(r"^ *(?!self\.)\w+\.[\w.]+ = ", re.MULTILINE)

STARTERS = ("create_task", "ensure_future")


@pytest.mark.parametrize(
    "room", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")
)
def test_a_room_says_what_it_is_for(room: str) -> None:
    """Each room's `__init__.py` begins with a docstring."""
    assert ast.get_docstring(parsed(PACKAGE / room / "__init__.py"))


def test_a_silenced_check_says_which_and_why() -> None:
    """`# noqa: CODE - why` and `# type: ignore[code]  # why`, on the line itself."""
    bare = [
        f"{shown(path)}:{number}: {line.strip()}"
        for path in EVERYTHING
        if path != Path(__file__)
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if (found := SUPPRESSION.search(line)) and not WITH_REASON.match(found["rest"])
    ]
    assert bare == []


def test_tasks_belong_to_a_group() -> None:
    """No task is started on the event loop itself: nothing would wait for it or see it fail.

    `ClientConnection._respond` reports its own failures, and `Server.stop` waits for it.
    """
    ungrouped = [
        f"{shown(path)}:{node.lineno}: {name}"
        for path in EVERYTHING
        if path != PACKAGE / "proxy" / "clients" / "connection.py"
        if any(name in text_of(path) for name in STARTERS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in STARTERS
        and (name := ast.unparse(node.func.value)).endswith(("loop", "loop()", "asyncio"))
    ]
    assert ungrouped == []


def test_what_a_test_replaces_in_the_product_is_put_back() -> None:
    """Replace it with `pytest.MonkeyPatch`: an assignment to a module or class would affect all later tests.

    The programs in `broken.py` are exempt, since they are broken on purpose and then exit.
    """
    replaced = [
        f"{shown(path)}:{node.lineno}: {ast.unparse(target)}"
        for path in sources("tests")
        if path.name != "broken.py" and ASSIGNED.search(text_of(path))
        for tree in (parsed(path),)
        for imported in (_imported(tree),)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target).partition(".")[0] in imported
    ]
    assert replaced == []


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from the product."""
    return {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("nncache")
        for each in node.names
    }


def test_no_expression_of_re_is_possessive() -> None:
    """Before Python 3.11.5, possessive quantifiers match too much (gh-106052)."""
    possessive = [
        f"{shown(path)}:{text.lineno}"
        for path in EVERYTHING
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
        for text in ast.walk(node)
        if isinstance(text, ast.Constant)
        and isinstance(text.value, str | bytes)
        and POSSESSIVE.search(CHARACTERS.sub("x", str(text.value)))
    ]
    assert possessive == []


def test_an_error_that_leaves_except_star_is_meant_as_a_group() -> None:
    """Before Python 3.11.4, an exception raised there becomes an ExceptionGroup (gh-103590): raise it elsewhere."""
    raised = [
        f"{shown(path)}:{inner.lineno}"
        for path in EVERYTHING
        if "except*" in text_of(path)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.TryStar)
        for handler in node.handlers
        for inner in ast.walk(handler)
        if isinstance(inner, ast.Raise)
    ]
    assert raised == []


def test_every_test_directory_is_a_package() -> None:
    """Without `__init__.py`, `tests/proxy/` would shadow the room of that name."""
    bare = {shown(path.parent) for path in sources("tests") if not (path.parent / "__init__.py").exists()}
    assert not bare


DOCUMENTS = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
_NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_as_proof_exists(document: Path) -> None:
    """After the rename of a test, a document must cite the new name."""
    missing = []
    for path, name in _NAMED.findall(document.read_text()):
        found = ROOT / path
        if not found.exists() or (name and f"def {name}(" not in found.read_text()):
            missing.append(f"{path}::{name}")
    assert not missing


def test_documents_name_proofs() -> None:
    """The test above must have something to check."""
    assert sum(len(_NAMED.findall(document.read_text())) for document in DOCUMENTS) > 50
