"""`nncache explain` prints the proxy's answer for people, and advice when the proxy does not answer."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nncache.cache.decisions import MissReason
from nncache.cache.explanation import EntryView, Explanation, LastForgotten
from nncache.commands.explain import explain, readable
from nncache.errors import ConfigurationError
from nncache.proxy.cache_status import MEANINGS
from tests.http_server import answering

PATH = "/user/joe/a b%/_SUCCESS"

KNOWN = Explanation(
    path=PATH,
    now=9.0,
    answer="hit",
    matches_filter=True,
    stream_open=True,
    stream_closed_because=None,
    term=1,
    gate_open=True,
    gate_age_s=0.0123,
    seen_as_of=8.9,
    covered_txid=77,
    in_two_step_write=False,
    questions_under_way=0,
    entry=EntryView(kind="missing", status=404, age_s=1.5, replied_at=7.5, since_txid=70, is_settled=True),
    grants=22,
    granted=("joe", "ann"),
    last_forgotten=LastForgotten(path="/user/joe", change="Appeared", txid=70, age_s=9.0),
)
UNKNOWN = Explanation(
    path="/x",
    now=9.0,
    answer="stream-closed",
    matches_filter=False,
    stream_open=False,
    stream_closed_because="purged: asked for 8, got 99",
    term=None,
    gate_open=False,
    gate_age_s=None,
    seen_as_of=None,
    covered_txid=-1,
    in_two_step_write=True,
    questions_under_way=2,
    entry=None,
    grants=0,
    granted=(),
    last_forgotten=None,
)


NAMENODE = {
    "http": "nn:9870",
    "rpc": "nn:8020",
    "namespace_over_http": "BP-1 of cluster CID-1",
    "namespace_over_rpc": "BP-1 of cluster CID-1",
}
OTHER = NAMENODE | {"namespace_over_rpc": "BP-2 of cluster CID-2"}
SILENT = NAMENODE | {"namespace_over_rpc": None}


def lines(answer: Explanation, gate: str = "open", namenode: Mapping[str, str | None] = NAMENODE) -> str:
    """Return the text for people, made from the JSON of this answer."""
    reported = asdict(answer) | {"gate": gate, "namenodes": [namenode]}
    parsed: dict[str, Any] = json.loads(json.dumps(reported))
    return "\n".join(readable(parsed))


def test_a_known_path_says_what_is_known_and_since_when() -> None:
    """The lines show the entry, its callers, the last change and the age of the proxy's knowledge."""
    assert lines(KNOWN) == (
        f"{PATH}\n"
        "  answered from memory to every caller proven to be allowed to see it\n"
        "  known: does not exist (status 404, reply 1.500 s old), unchanged since transaction 70\n"
        "  callers proven: joe, ann and 20 more\n"
        "  last forgotten: Appeared of /user/joe by transaction 70, 9.000 s ago\n"
        "  changes: applied up to transaction 77 as of 0.012 s ago; gate open\n"
        "  NameNode nn:9870: namespace BP-1 of cluster CID-1"
    )


def test_a_credential_is_shown_by_the_user_whom_it_names() -> None:
    """An operator knows users; the digest distinguishes two credentials of the same user."""
    granted = (
        "cookie=d95a5f0123456789\0claims=ann",
        "token=0123456789abcdef\0claims=joe\0doas=eve\0peer=h",
        "token=d95a5f0123456789",
        "user=knox\0doas=ann\0peer=h",
    )
    assert (
        "  callers proven: ann (by cookie d95a5f01...), joe (by token 01234567...) doas=eve peer=h, "
        "token=d95a5f0123456789, user=knox doas=ann peer=h\n"
    ) in lines(replace(KNOWN, granted=granted, grants=4))


def test_an_unknown_path_says_why() -> None:
    """The reason is in words for a reader who does not know the code."""
    assert lines(
        UNKNOWN, "closed: the NameNode's changes are not being read (purged: asked for 8, got 99)"
    ) == (
        "/x\n"
        "  not answered from memory (stream-closed): the NameNode's changes are not being read: "
        "every call is forwarded\n"
        "  known: nothing\n"
        "  callers proven: none\n"
        "  a two-step write through this proxy is under way\n"
        "  questions under way to the NameNode: 2\n"
        "  changes: not being read; gate closed: the NameNode's changes are not being read "
        "(purged: asked for 8, got 99)\n"
        "  NameNode nn:9870: namespace BP-1 of cluster CID-1"
    )


@pytest.mark.parametrize(
    ("namenode", "over_rpc"), [(OTHER, "BP-2 of cluster CID-2"), (SILENT, "not known yet")]
)
def test_both_namespaces_are_named_where_they_differ(
    namenode: Mapping[str, str | None], over_rpc: str
) -> None:
    """The line names the RPC address, too."""
    assert lines(UNKNOWN, namenode=namenode).splitlines()[-1] == (
        f"  NameNode nn:9870: namespace BP-1 of cluster CID-1 over HTTP, {over_rpc} over RPC (nn:8020)"
    )


@pytest.mark.parametrize("reason", [reason for reason in MissReason if reason is not MissReason.REQUEST])
def test_each_reason_of_the_cache_has_words(reason: MissReason) -> None:
    """Only `request` needs no words: the request itself is the reason."""
    assert reason.value in MEANINGS


def test_the_path_reaches_the_proxy_whatever_is_in_it() -> None:
    """Spaces, percent signs and slashes are escaped in the URL."""
    body = json.dumps(asdict(KNOWN)).encode()
    with answering(200, body) as (address, asked):
        result = CliRunner().invoke(explain, [PATH, "--admin", address, "--json"])
    assert asked == ["GET /explain?path=%2Fuser%2Fjoe%2Fa%20b%25%2F_SUCCESS"]
    assert json.loads(result.output) == json.loads(body)


def test_bytes_that_are_no_utf_8_reach_the_proxy() -> None:
    """The bytes are sent as the shell passed them."""
    with answering(200, json.dumps(asdict(KNOWN)).encode()) as (address, asked):
        result = CliRunner().invoke(explain, ["/a/\udce9", "--admin", address, "--json"])
    assert result.exception is None
    assert asked == ["GET /explain?path=%2Fa%2F%E9"]


def test_no_name_steers_the_terminal() -> None:
    """Users of HDFS choose the paths, and callers choose their names."""
    answer = {
        **asdict(replace(KNOWN, path="/a\n\x1b]0;owned\x07", granted=("ev\x1b[2Jil",), grants=1)),
        "gate": "open",
        "namenodes": [],
    }
    with answering(200, json.dumps(answer).encode()) as (address, _):
        printed = CliRunner().invoke(explain, ["/a", "--admin", address]).output.splitlines()
    assert printed[0] == "/a\\n\\x1b]0;owned\\x07"
    assert "  callers proven: ev\\x1b[2Jil" in printed


def test_the_proxy_may_be_named_in_the_file(tmp_path: Path) -> None:
    """It is the file of the daemons. A flag overrides it, and an error names the file."""
    config = tmp_path / "nncache.toml"
    with answering(200, json.dumps(asdict(KNOWN)).encode()) as (address, asked):
        config.write_text(f'admin = "{address}"\nlisten = "127.0.0.1:9871"\n')
        result = CliRunner().invoke(explain, [PATH, "--config", str(config), "--json"])
        assert result.exit_code == 0
        config.write_text('admin = "nowhere:1"\n')
        result = CliRunner().invoke(explain, [PATH, "--config", str(config), "--admin", address, "--json"])
        assert result.exit_code == 0
    assert len(asked) == 2
    config.write_text('admin = "9872"\n')
    with pytest.raises(ConfigurationError, match=rf"^admin: 9872: .*\(in {config}\)$"):
        explain.main([PATH, "--config", str(config)], standalone_mode=False)


def test_the_namespace_that_holds_the_path_is_named() -> None:
    """The namespace follows the path in the first line."""
    answer = {**asdict(UNKNOWN), "namespace": "lake", "gate": "open", "namenodes": []}
    assert next(readable(answer)) == "/x (namespace lake)"
