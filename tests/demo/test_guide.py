"""Addresses and commands that work on the running system."""

import shlex
from pathlib import Path

from demo.guide import hints, nncache_command
from nncache.explain_command import explain
from tests.demo.told import Told

GIVEN = {
    "proxy": "127.0.0.1:1001",
    "admin": "127.0.0.1:1002",
    "namenode": "127.0.0.1:1003",
    "nncache": "nncache",
}


def test_every_server_is_named_with_its_port() -> None:
    """Exact lines, to be copied."""
    lines = [hint.line for hint in hints(**GIVEN, has_ui=True)]
    for address in ("127.0.0.1:1001", "127.0.0.1:1002", "127.0.0.1:1003"):
        assert any(f"http://{address}/" in line for line in lines)
    assert "http://127.0.0.1:1003/dfshealth.html" in lines


def test_a_page_that_is_not_there_is_not_offered() -> None:
    """Hadoop 3.5.0's jars come without the web UI."""
    lines = [hint.line for hint in hints(**GIVEN, has_ui=False)]
    assert not any("dfshealth" in line for line in lines)
    assert any("/jmx?qry=Hadoop:service=NameNode,name=NameNodeActivity" in line for line in lines)


def test_the_commands_can_be_typed_as_they_stand() -> None:
    """A shell takes the URL as one word, and the explain command takes its arguments."""
    lines = [shlex.split(hint.line) for hint in hints(**GIVEN, has_ui=True)]
    (read,) = (words for words in lines if words[:2] == ["curl", "-i"])
    assert read[2:] == [
        "http://127.0.0.1:1001/webhdfs/v1/user/alice/workflow/day-1/_SUCCESS?op=GETFILESTATUS&user.name=bob"
    ]
    (asked,) = (words for words in lines if words[0] == "nncache")
    context = explain.make_context("explain", asked[2:])
    assert context.params["admin"] == "127.0.0.1:1002"


def test_the_command_is_called_from_where_one_stands() -> None:
    """Short when it is below, whole when it is elsewhere."""
    python = Path("/src/nncache/.venv/bin/python")
    assert nncache_command(python, Path("/src/nncache")) == ".venv/bin/nncache"
    assert nncache_command(python, Path("/src/other")) == "/src/nncache/.venv/bin/nncache"


def test_the_story_ends_with_them(told: Told) -> None:
    """All of them, on lines of their own."""
    for word in (
        "curl -i 'http://",
        "curl -X DELETE 'http://",
        "nncache explain /user/alice",
        "/_SUCCESS --admin ",
    ):
        assert any(word in line for line in told.out.splitlines())
