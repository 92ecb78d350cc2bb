"""The forms of log records, and the limits on their number."""

import fcntl
import json
import logging
import os
import re

import pytest

from nncache.logs import Bounded, LogFormat, LogSettings, OneLine, OneObject, set_up_logs


def test_a_record_is_one_line_with_a_utc_time() -> None:
    """Text from a peer cannot forge a second line."""
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
    """A path may contain characters that clear a terminal or that log parsers treat as line ends."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "/a%sb\té", (character,), None)
    line = OneLine().format(record)
    assert character not in line
    assert line.endswith(f"/a{character.encode('unicode_escape').decode()}b\té")


def test_a_json_line_is_one_object() -> None:
    """It decodes to the logged values. A traceback is one string, and control characters are escaped."""
    text = 'a\r\n{"level": "ERROR"}\x00\x0b\x1b\x7f\x85\x9b\u2028\udcff é'
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(f"{{}}{text}")
    error = caught.value
    failure = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x.y", logging.WARNING, __file__, 1, "/%s", (text,), failure, sinfo="s")
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
        "message": f"/{text}",
        "stack": "s",
    }


@pytest.mark.parametrize(
    ("log_format", "line"),
    [("text", r"\S+Z WARNING x: loud\n"), ("json", r'\{"time": "\S+Z", "level": "WARNING", .*"loud"\}\n')],
)
def test_lines_below_the_level_are_not_written(
    log_format: LogFormat, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`log_level` is the minimum level, `log_format` the form."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers.clear()  # removes pytest's handlers, which set_up_logs would close
    try:
        set_up_logs(LogSettings(log_level="warning", log_format=log_format))
        logging.getLogger("x").info("quiet")
        logging.getLogger("x").warning("loud")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert re.fullmatch(line, capsys.readouterr().err)


def test_a_reader_that_stands_still_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop that waits for it answers nobody. A later line says how many were lost."""
    (reading, writing), logger, root = os.pipe(), logging.getLogger("x"), logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers.clear()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "w", buffering=1) as writer:
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        monkeypatch.setattr("sys.stderr", writer)
        try:
            set_up_logs(LogSettings())
            for number in range(50):
                logger.info("%d %s", number, "x" * 200)
            first = os.read(reader.fileno(), 65_536).decode().splitlines()
            logger.info("%s", "now read")
            last = os.read(reader.fileno(), 65_536).decode()
            assert os.get_blocking(writer.fileno()), "other processes may share it"
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    assert [line.split()[3] for line in first] == [str(number) for number in range(len(first))]
    assert last.endswith(
        f"x: now read ({50 - len(first)} lines before this one were lost: nothing read them)\n"
    )


def record_at(line: int, level: int = logging.WARNING, msg: str = "from %s") -> logging.LogRecord:
    """Return a record from a line of this file."""
    return logging.LogRecord("x", level, __file__, line, msg, ("p",), None)


def test_one_place_of_the_code_does_not_fill_the_disk() -> None:
    """A burst of 60 lines and then one per second, whatever a client sends; a later line counts the omitted ones."""
    now = 0.0
    bound = Bounded(lambda: now)
    assert [bound.filter(record_at(1)) for _ in range(100)] == [True] * 60 + [False] * 40
    assert bound.filter(record_at(2))
    now = 1.0
    last = record_at(1)
    assert bound.filter(last)
    assert last.getMessage() == "from p (40 more like this were left out)"
    assert not bound.filter(record_at(1))
    assert sum(bound.filter(record_at(3, logging.DEBUG)) for _ in range(100)) == 100


def test_a_tls_client_that_closes_its_half_writes_no_line() -> None:
    """Asyncio would warn of our protocol's return value once per connection."""
    message = "returning true from eof_received() has no effect when using ssl"
    assert not Bounded(lambda: 0.0).filter(logging.LogRecord("asyncio", 30, __file__, 1, message, (), None))
