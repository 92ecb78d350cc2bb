"""How the story looks."""

import io

import pytest

from nncache.demo.chapter import Chapter
from nncache.demo.guide import Hint
from nncache.demo.stage import Stage
from nncache.demo.step import Step
from nncache.demo.terminal import Terminal
from tests.demo.told import Told

WORK = "A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper"
TRUE = Step(title="It is seen", expected="in time", seen="p50 9 ms", came_true=True)
UNTRUE = Step(title="It stays so", expected="for good", seen="for a while [sic]", came_true=False)


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


async def play(_stage: Stage) -> tuple[Step, ...]:
    """Play nothing."""
    return ()


CHAPTER = Chapter("A title", "What happens, in " + "very " * 40 + "many words.", play)


def tell_all(stream: io.StringIO) -> str:
    """Say one of everything and return what came out."""
    terminal = Terminal(stream)
    terminal.opening()
    with terminal.working("A cluster") as say:
        say("starting [it]")
        terminal.command("nncache " + "y" * 200)
    with terminal.chapter(1, CHAPTER):
        pass
    for step in (TRUE, UNTRUE):
        terminal.step(step)
    terminal.table((TRUE, UNTRUE))
    terminal.verdict((TRUE, UNTRUE), "It is deaf.")
    terminal.hints((Hint("Read:", "curl " + "x" * 200),))
    terminal.log("It said:", "a [line]")
    terminal.say("The end.")
    return stream.getvalue()


@pytest.fixture
def plain() -> str:
    """Everything as a file gets it."""
    return tell_all(io.StringIO())


def test_a_file_gets_plain_lines(plain: str) -> None:
    """No colours, nothing that moves, and text as it is."""
    assert "\x1b" not in plain
    assert "\r" not in plain
    for words in ("starting [it]", "for a while [sic]", "a [line]"):
        assert words in plain


def test_each_step_is_ticked_or_crossed(plain: str) -> None:
    """Once when it is played, and once in the table at the end; what is crossed says what was expected."""
    lines = [line.strip() for line in plain.splitlines()]
    assert "✓ It is seen: p50 9 ms" in lines
    assert "✗ It stays so: for a while [sic]" in lines
    assert "expected: for good" in lines
    assert next(line.split() for line in lines if "in time" in line)[:4] == ["✓", "It", "is", "seen"]
    assert any(line.startswith("✗") and "for good" in line and "for a while" in line for line in lines)


def test_the_verdict_names_what_did_not_come_true_and_why(plain: str) -> None:
    """In so many words."""
    assert "1 of 2 steps did not come true: It stays so." in plain
    assert "It is deaf." in plain


def test_all_came_true_is_said_when_it_did() -> None:
    """And nothing about what is left out."""
    stream = io.StringIO()
    Terminal(stream).verdict((TRUE,), "It is deaf.")
    assert stream.getvalue() == "All 1 steps came true.\n"


def test_a_line_to_copy_is_never_folded(plain: str) -> None:
    """Whatever its length."""
    assert f"   curl {'x' * 200}\n" in plain
    assert f" $ nncache {'y' * 200}\n" in plain


def test_a_terminal_gets_colours() -> None:
    """And the same words."""
    shown = tell_all(Screen())
    assert "\x1b[" in shown or Terminal(Screen()).is_terminal
    assert "It stays so" in shown


def test_what_cannot_show_a_tick_gets_a_word() -> None:
    """An ASCII terminal must not end the story."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    terminal = Terminal(stream)
    terminal.step(TRUE)
    terminal.step(UNTRUE)
    terminal.table((TRUE, UNTRUE))
    text = raw.getvalue().decode("ascii")
    assert "ok It is seen" in text
    assert "NO It stays so" in text


def test_what_takes_long_says_so_before_and_after(told: Told) -> None:
    """With the time that it took."""
    lines = [line.strip() for line in told.out.splitlines()]
    begun = lines.index(WORK)
    (done,) = (number for number, line in enumerate(lines) if line.startswith("✓ A real HDFS"))
    assert begun < done
    assert lines[done].endswith(" s")
    assert any("starting a cluster" in line for line in lines[begun:done])
