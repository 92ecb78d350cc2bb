"""Colours tell modes and processes apart."""

from nncache.bench.report.colours import QUIET, of_mode, of_process

MODES = ("direct", "nncache", "nginx")
PROCESSES = ("namenode", "proxy", "publisher", "nginx", "generator", "changer")


def test_no_two_have_the_same_colour() -> None:
    """Neither modes nor processes; what has no colour of its own has none of theirs."""
    assert len({of_mode(mode) for mode in (*MODES, "another")}) == 4
    assert len({of_process(process) for process in (*PROCESSES, "another")}) == 7


def test_what_nobody_knows_is_drawn_nevertheless() -> None:
    """All strangers alike."""
    assert of_mode("varnish") == of_mode("another")
    assert of_process("journalnode") == of_process("another") == QUIET
