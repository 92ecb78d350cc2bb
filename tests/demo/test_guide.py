"""Addresses and commands that work on the running system."""

import shlex

from nncache.demo.guide import Addresses, hints
from tests.demo.told import Told
from tests.demo.typed import parameters_of

GIVEN = Addresses(
    proxy="127.0.0.1:1001",
    proxy_admin="127.0.0.1:1002",
    publisher_admin="127.0.0.1:1004",
    namenode="127.0.0.1:1003",
    zookeeper="127.0.0.1:1005",
)


def test_every_server_is_named_with_its_port() -> None:
    """Exact lines, to be copied."""
    lines = [hint.line for hint in hints(GIVEN, has_ui=True)]
    for port in range(1001, 1006):
        assert any(f"127.0.0.1:{port}" in line for line in lines)
    assert "http://127.0.0.1:1003/dfshealth.html" in lines


def test_a_page_that_is_not_there_is_not_offered() -> None:
    """Hadoop 3.5.0's jars come without the web UI."""
    lines = [hint.line for hint in hints(GIVEN, has_ui=False)]
    assert not any("dfshealth" in line for line in lines)
    assert any("/jmx?qry=Hadoop:service=NameNode,name=NameNodeActivity" in line for line in lines)


def test_the_commands_can_be_typed_as_they_stand() -> None:
    """A shell takes the URL as one word, and nncache's commands take their arguments."""
    lines = [shlex.split(hint.line) for hint in hints(GIVEN, has_ui=True)]
    (read,) = (words for words in lines if words[:2] == ["curl", "-i"])
    assert read[2:] == [
        "http://127.0.0.1:1001/webhdfs/v1/user/alice/workflow/day-1/_SUCCESS?op=GETFILESTATUS&user.name=bob"
    ]
    typed = [words[1:] for words in lines if words[0].endswith("nncache")]
    assert [words[0] for words in typed] == ["explain", "watch", "filters"]
    for words in typed:
        parameters_of(words)


def test_the_story_ends_with_them(told: Told) -> None:
    """All of them, on lines of their own."""
    for word in (
        "curl -i 'http://",
        "curl -X DELETE 'http://",
        "nncache explain /user/alice",
        "/_SUCCESS --admin ",
    ):
        assert any(word in line for line in told.out.splitlines())
