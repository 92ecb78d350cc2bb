"""Every record is one line."""

import json
import logging
import re

import pytest

from nncache.logs import LogFormat, LogSettings, OneLine, OneObject, set_up_logs


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


def test_a_json_line_is_one_object() -> None:
    """Read back it is what was logged; a traceback is one string, and nothing in it steers a reader."""
    said = 'a\r\n{"level": "ERROR"}\x00\x0b\x1b\x7f\x85\x9b\u2028\udcff é'
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(f"{{}}{said}")
    error = caught.value
    failure = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x.y", logging.WARNING, __file__, 1, "/%s", (said,), failure, sinfo="s")
    record.created, record.msecs = 0.0, 7.0
    line = OneObject().format(record)
    assert line.isascii()
    assert line.isprintable()
    read = json.loads(line)
    assert read.pop("exception").endswith("JSONDecodeError: Extra data: line 1 column 3 (char 2)")
    assert read == {
        "time": "1970-01-01T00:00:00.007Z",
        "level": "WARNING",
        "logger": "x.y",
        "message": f"/{said}",
        "stack": "s",
    }


@pytest.mark.parametrize(
    ("log_format", "line"),
    [("text", r"\S+Z WARNING x: loud\n"), ("json", r'\{"time": "\S+Z", "level": "WARNING", .*"loud"\}\n')],
)
def test_lines_below_the_level_are_not_written(
    log_format: LogFormat, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`log_level` is the least weight that is written, `log_format` says how."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers.clear()  # pytest's own, which set_up_logs would close
    try:
        set_up_logs(LogSettings(log_level="warning", log_format=log_format))
        logging.getLogger("x").info("quiet")
        logging.getLogger("x").warning("loud")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert re.fullmatch(line, capsys.readouterr().err)
