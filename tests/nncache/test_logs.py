"""Every record is one line."""

import logging
import re

import pytest

from nncache.logs import LogSettings, OneLine, set_up_logs


def test_a_record_is_one_line_with_a_utc_time() -> None:
    """What a peer sent cannot forge a second line."""
    record = logging.LogRecord(
        "nncache.proxy.clients.server", logging.INFO, __file__, 1, "from %s", ("a\r\nERROR b",), None
    )
    record.created, record.msecs = 0.0, 7.0
    assert (
        OneLine().format(record)
        == "1970-01-01T00:00:00.007Z INFO nncache.proxy.clients.server: from a\\r\\nERROR b"
    )


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029"])
def test_no_character_steers_the_reader(character: str) -> None:
    """A path may hold what clears a terminal, or ends a line for whoever splits the log."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "/a%sb\té", (character,), None)
    line = OneLine().format(record)
    assert character not in line
    assert line.endswith(f"/a{character.encode('unicode_escape').decode()}b\té")


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """`log_level` is the least weight that is written."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers.clear()  # pytest's own, which set_up_logs would close
    try:
        set_up_logs(LogSettings(log_level="warning"))
        logging.getLogger("x").info("quiet")
        logging.getLogger("x").warning("loud")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert re.fullmatch(r"\S+Z WARNING x: loud\n", capsys.readouterr().err)
