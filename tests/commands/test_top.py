"""`nncache top` shows /status in a terminal, and continues when the proxy does not answer."""

import io
import json
import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from nncache.commands.admin_client import admin_port
from nncache.commands.top import follow, screen, top
from nncache.daemons.proxy_status import status_of
from nncache.errors import AdminError
from nncache.settings.commands import TOP
from nncache.tenants.hottest import Hot, HottestStats
from tests.daemons.test_proxy_status import SEEN
from tests.http_server import answering

HOSTILE = "/w/\x1b]0;owned\x07[bold red]x\nforged"
HOTTEST = HottestStats(
    paths=tuple(Hot(path, 12.34, 0.0) for path in (HOSTILE, "/w/second", "/w/third")),
    callers=(Hot("ann via joe", 1_234.5, 0.0),),
    addresses=(Hot("10.0.0.1", 0.0, 0.0),),
)
BODY = msgspec.json.encode(status_of(replace(SEEN, hottest=HOTTEST)))
STATUS: dict[str, Any] = json.loads(BODY)


def printed(status: dict[str, Any], rows: int = 10, width: int = 120) -> str:
    """Return the screen as text."""
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(screen(status, rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_shows_rates_paths_callers_addresses_and_reasons() -> None:
    """One screen shows them all."""
    text = printed(STATUS)
    for words in (
        "nncache 0.1.0 on proxy7, up 6 min",
        "gate open; all changes applied as of 0.200 s ago",
        "since start 1,000 and 90.0 %, 860 NameNode calls saved",
        "failed 3, refused 2",
        "1,234.5  ann via joe",
        "10.0.0.1",
        "miss: nothing is known of it yet",
    ):
        assert words in text


def test_more_calls_than_without_it_are_no_negative_saving() -> None:
    """A proxy with few requests still reads the edits."""
    status = json.loads(BODY)
    status["saved"]["since_start"]["calls_saved"] = -2437
    assert "2,437 NameNode calls more than without it" in " ".join(printed(status).split())


def test_what_is_amiss_with_the_source_of_edits() -> None:
    """A problem has a line; with several namespaces it names the namespace."""
    line = "edits are read from journalnodes; not from other: it is not there; JournalNode j2:8485 does not count"
    assert f"{line}: connection refused" in " ".join(printed(STATUS).split())
    well = STATUS["edits"] | {"passed_over": [], "journalnodes": []}
    assert "edits" not in printed(STATUS | {"edits": well})
    of_each = [{"name": "one", "edits": STATUS["edits"]}, {"name": "two", "edits": well}]
    of_all = " ".join(printed(STATUS | {"edits": None, "namespaces": of_each}).split())
    assert f"edits of one {line[6:]}" in of_all
    assert "of two" not in of_all


def test_a_name_is_neither_markup_nor_steers_the_terminal() -> None:
    """Clients choose the names."""
    text = printed(STATUS)
    assert "\\x1b]0;owned\\x07[bold red]x\\nforged" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_as_many_rows_as_asked_for() -> None:
    """The limit applies to each table."""
    text = printed(STATUS, rows=2)
    assert "/w/second" in text
    assert "/w/third" not in text


def test_a_closed_gate_and_an_idle_proxy_have_words() -> None:
    """The ratio and the age are absent."""
    status = json.loads(BODY)
    status["gate"] |= {"is_open": False, "state": "closed: not read", "age_s": None}
    status["saved"]["last_minute"]["ratio"] = None
    status["uptime_s"] = 3.0
    text = printed(status)
    assert "gate closed: not read\n" in re.sub(" +\n", "\n", text)
    assert "no requests from memory" in text
    assert "up 3 s" in text


@pytest.mark.parametrize(
    ("uptime_s", "words"), [(7_260.0, "up 2 h 1 min"), (200_000.0, "up 2 d 7 h"), (59.9, "up 59 s")]
)
def test_uptime_is_for_people(uptime_s: float, words: str) -> None:
    """It has at most two units."""
    assert words in printed(STATUS | {"uptime_s": uptime_s})


@pytest.mark.parametrize("words", [["--once"], []])
def test_without_a_terminal_it_prints_once(words: list[str]) -> None:
    """A program at the end of a pipe expects that."""
    with answering(200, BODY) as (address, asked):
        result = CliRunner().invoke(top, ["--admin", address, *words])
    assert (result.exit_code, asked) == (0, ["GET /status"])
    assert "ann via joe" in result.output


def test_the_document_as_it_came() -> None:
    """`--json` prints the document unchanged, for programs."""
    with answering(200, BODY) as (address, _):
        result = CliRunner().invoke(top, ["--admin", address, "--json"])
    assert json.loads(result.output) == STATUS


def test_the_port_of_a_publisher_is_named_as_what_it_is() -> None:
    """Its /status is another document, which `--json` prints unchanged."""
    with answering(200, b'{"daemon": "publisher"}') as (address, _):
        result = CliRunner().invoke(top, ["--admin", address, "--once"])
        assert isinstance(result.exception, AdminError)
        assert str(result.exception).startswith(f"{address} is the admin port of an nncache publisher, ")
        assert json.loads(CliRunner().invoke(top, ["--admin", address, "--json"]).output) == {
            "daemon": "publisher"
        }


def test_live_it_goes_on_when_the_proxy_does_not_answer() -> None:
    """The last figures stay, with the error above them. Ctrl-C ends it."""
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    pauses = 0

    def pause(_: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            server.__exit__(None, None, None)
        if pauses == 3:
            raise KeyboardInterrupt

    server = answering(200, BODY)
    address, asked = server.__enter__()
    follow(admin_port(TOP, None, {"admin": address}), 5, console, pause)
    assert len(asked) == 2
    assert isinstance(console.file, io.StringIO)
    assert f"no proxy answers at {address}" in console.file.getvalue()


def test_nothing_there_at_first_is_an_error() -> None:
    """The error is one line, as for `nncache explain`."""
    with pytest.raises(AdminError, match="no proxy answers"):
        follow(
            admin_port(TOP, None, {"admin": "127.0.0.1:1"}), 5, Console(file=io.StringIO()), lambda _: None
        )
