"""`nncache audit` compares the answers for the chosen paths and ends with a verdict."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from nncache.auditing.audit_judge import AuditOutcome
from nncache.commands.admin_client import AdminPort
from nncache.commands.audit import HttpSides, audit, is_hit, lines, proxy_of, report_as_json
from nncache.commands.audit_questions import AuditQuestions, AuditReport, StatusReply
from nncache.commands.group import nncache
from nncache.errors import NotAuditedError
from nncache.net.endpoint import ListenAddress, parse_endpoint
from tests.http_server import Answer, answering, http_server, serving
from tests.processes import free_address


class Simulation:
    """Admin port, proxy and NameNode at one address: every path gets the same answers."""

    def __init__(self) -> None:
        self.address = ""
        self.daemon: str | None = "proxy"
        self.paths = ["/w/a", "/w/b"]
        self.asked: list[str] = []
        self.user_names: set[str] = set()
        self.lengths: list[int] = []  # of the next replies; 1 after the last of them

    def answer(self, target: str) -> tuple[int, Mapping[str, Any]]:
        """Return the status and the JSON document."""
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/status":
                of_proxy = {"settings": {"listen": self.address}, "gate": {"max_staleness_s": 3.0}}
                return 200, {"daemon": self.daemon} | (of_proxy if self.daemon == "proxy" else {})
            case "/sample":
                if query.get("filter", "ours") != "ours":
                    return 400, {"error": "no filter 'theirs' is in force; in force: ours"}
                return 200, {"paths": self.paths}
            case "/explain":
                active = {"http": self.address, "state": "active"}
                now = 100.0 + len(self.asked)
                entry = {"replied_at": 1.0}
                return 200, {"now": now, "seen_as_of": now + 99, "entry": entry, "namenodes": [active]}
            case path:
                self.asked.append(path.removeprefix("/webhdfs/v1"))
                self.user_names.add(query["user.name"])
                return 200, {"FileStatus": {"length": self.lengths.pop(0) if self.lengths else 1}}


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    """Serve a simulation."""
    found = Simulation()

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        status, document = found.answer(request.path)
        return status, {"Cache-Status": "nncache; hit"}, json.dumps(document).encode()

    with serving(answer) as found.address:
        yield found


def run(simulation: Simulation, *words: str) -> Result:
    """Run the command at a high rate for a fraction of a second."""
    quick = ("--admin", simulation.address, "--rate", "200", "--seconds", "0.2", "--user", "hdfs")
    return CliRunner().invoke(audit, [*words, *quick])


def test_what_the_proxy_holds_is_asked_about(simulation: Simulation) -> None:
    """Without paths it asks about sampled entries, optionally of one filter, as the user of `--user`."""
    for words in ([], ["--filter", "ours"], ["--proxy", simulation.address]):
        simulation.asked.clear()
        result = run(simulation, *words)
        assert "right: " in result.output
        assert result.exit_code == 0
        assert set(simulation.asked) == {"/w/a", "/w/b"}
    assert simulation.user_names == {"hdfs"}


def test_given_paths_are_asked_about(simulation: Simulation) -> None:
    """A path may be written in any spelling; it is normalized."""
    assert run(simulation, "//x/y/").exit_code == 0
    assert set(simulation.asked) == {"/x/y"}


def test_a_wrong_answer_is_exit_code_1(simulation: Simulation) -> None:
    """The proxy still holds the entry although it has applied all changes up to a later moment."""
    simulation.lengths = [1, 2]
    result = run(simulation, "/w/f", "--json")
    found = json.loads(result.output)
    assert (result.exit_code, found["exit_code"], found["verdict"]) == (1, 1, "wrong")
    assert found["wrong"] == ["/w/f"]


def test_an_empty_cache_is_exit_code_2(simulation: Simulation) -> None:
    """No answer was compared."""
    simulation.paths = []
    result = run(simulation)
    assert result.exit_code == 2
    assert "not known: no answer from memory could be compared" in result.output


def test_a_proxy_that_goes_away_leaves_a_report(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends the audit with a report, too."""
    asked = AuditQuestions.ask

    def ask(self: AuditQuestions, path: str) -> None:
        asked(self, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(AuditQuestions, "ask", ask)
    result = run(simulation)
    assert result.exit_code == 0
    assert "right: 1 answers" in result.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["/w", "--filter", "ours"], "give PATHs or --filter NAME|GLOB"),
        (["w"], "not an absolute path: 'w'"),
        (["--rate", "0"], "--rate"),
    ],
)
def test_wrong_words_ask_nobody(words: list[str], error: str, simulation: Simulation) -> None:
    """The exit code is 2, and no path is asked about."""
    result = CliRunner().invoke(audit, [*words, "--admin", simulation.address])
    assert (result.exit_code, simulation.asked) == (2, [])
    assert error in result.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--filter", "theirs"], "no filter 'theirs' is in force"),
        (["--proxy", "here"], "--proxy: here: must be host:port"),
        (["--admin", "ADMIN"], "no proxy answers at"),
    ],
)
def test_what_can_not_be_asked_is_exit_code_2(words: list[str], error: str, simulation: Simulation) -> None:
    """Exit code 1 is reserved for wrong answers."""
    nothing = free_address()
    arguments = [word.replace("ADMIN", nothing) for word in words]
    result = CliRunner().invoke(nncache, ["audit", "--admin", simulation.address, *arguments])
    assert result.exception is not None
    assert getattr(result.exception, "exit_code", None) == 2
    assert error in str(result.exception)


@pytest.mark.parametrize("proxy", [(), ("--proxy", "127.0.0.1:1", "/w")])
@pytest.mark.parametrize(
    ("daemon", "whose"), [("publisher", "an nncache publisher"), (None, "a daemon that")]
)
def test_the_port_of_another_daemon_is_exit_code_2(
    daemon: str | None, whose: str, proxy: tuple[str, ...], simulation: Simulation
) -> None:
    """The error names the kind of daemon and the flag to correct. A daemon may not report its kind."""
    simulation.daemon = daemon
    result = run(simulation, *proxy)
    assert isinstance(result.exception, NotAuditedError)
    assert result.exception.exit_code == 2
    assert str(result.exception).startswith(f"{simulation.address} is the admin port of {whose}")
    assert "give --admin the proxy's admin port" in str(result.exception)


def test_a_filter_may_be_any_bytes(simulation: Simulation) -> None:
    """A command-line argument need not be UTF-8."""
    result = run(simulation, "--filter", "/a\udce9")
    assert isinstance(result.exception, NotAuditedError)
    assert "no filter" in str(result.exception)


ADMIN = ListenAddress("proxy7", 9872)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("nncache; hit", True),
        ("nncache;hit;ttl=3", True),
        ("nncache; fwd=miss", False),
        ("nncache; fwd=miss; detail=hit", False),
        ("hit", False),
        ("", False),
    ],
)
def test_what_a_hit_is(field: str, *, expected: bool) -> None:
    """RFC 9211: a hit is the parameter `hit` without a value."""
    assert is_hit(field) is expected


@pytest.mark.parametrize(
    ("listen", "expected"),
    [("nn-proxy:9871", "nn-proxy:9871"), ("0.0.0.0:9871", "proxy7:9871"), ("[::]:9871", "proxy7:9871")],
)
def test_where_the_proxy_serves(listen: str, expected: str) -> None:
    """A proxy that listens on all addresses is asked at the host of its admin port."""
    assert str(proxy_of({"settings": {"listen": listen}}, ADMIN)) == expected


def sides(at: str, proxy: str | None = None) -> HttpSides:
    """Return the sides with the admin port at `at`, and the proxy at `proxy` or there as well."""
    admin = AdminPort(parse_endpoint("admin", at), None)
    return HttpSides(admin, parse_endpoint("proxy", proxy or at), "hdfs")


def test_both_are_asked_the_same() -> None:
    """Both requests name the user and escape the path."""
    with answering(404, b"{}") as (address, asked):
        found = sides(address)
        assert found.through_proxy("/w/a b%?") == StatusReply(404, b"{}")
        assert found.at_namenode(address, "/w/a b%?") == StatusReply(404, b"{}")
    assert asked == ["GET /webhdfs/v1/w/a%20b%25%3F?op=GETFILESTATUS&user.name=hdfs"] * 2


def test_an_answer_from_memory() -> None:
    """The reply counts as a hit if `Cache-Status` says so."""
    with http_server(200, {"Cache-Status": "nncache; hit"}, "{}") as address:
        assert sides(address).through_proxy("/w") == StatusReply(200, b"{}", is_hit=True)


def test_the_path_is_explained() -> None:
    """The explanation comes from the admin port, with the path escaped."""
    with answering(200, b'{"now": 1}') as (address, asked):
        assert sides(address).explain("/w/a b%") == {"now": 1}
    assert asked == ["GET /explain?path=%2Fw%2Fa%20b%25"]


def test_who_does_not_answer() -> None:
    """A side that does not answer gives None."""
    nothing = free_address()
    assert sides(nothing).through_proxy("/w") is None
    assert sides(nothing).at_namenode(nothing, "/w") is None


def report(*wrong: str, **outcomes: int) -> AuditReport:
    """Return a report with these outcomes."""
    found = Counter({AuditOutcome(name): count for name, count in outcomes.items()})
    return AuditReport(found, 3, dict.fromkeys(wrong))


def test_all_is_right() -> None:
    """Each outcome has a line with its meaning."""
    assert list(lines(report(same=1200, changed=2))) == [
        "  1,200 same: the NameNode gave the same answer",
        "      2 changed: the path changed after it was answered from memory, and the cache has forgotten it in time",
        "      3 not from memory: the proxy asked the NameNode itself, nothing to compare",
        "right: 1,202 answers from memory compared, none beyond the bound",
    ]


def test_some_are_wrong() -> None:
    """Control characters of a path are escaped."""
    *_, wrong, verdict = lines(report("/w/\x1b[31m\n", same=9, beyond=1))
    assert wrong == "wrong answer from memory: /w/\\x1b[31m\\n"
    assert verdict.startswith("wrong: 1 of 10 answers from memory beyond the bound (Bounded is broken)")


def test_it_is_not_known() -> None:
    """No answer was compared, or a difference could not be proven."""
    (*_, verdict) = lines(report(unanswered=4))
    assert verdict.startswith("not known: no answer from memory could be compared")
    (*_, verdict) = lines(report(same=4, unproven=2))
    assert verdict.startswith("not known: 2 answers differ, and the proxy could not prove")


def test_for_programs() -> None:
    """Every outcome is listed, also with a count of 0."""
    found = report_as_json(report("/w/f", same=9, beyond=1))
    assert (found["verdict"], found["exit_code"], found["compared"]) == ("wrong", 1, 10)
    assert (found["not_from_memory"], found["wrong"]) == (3, ["/w/f"])
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert set(outcomes) == {outcome.value for outcome in AuditOutcome}
    assert (outcomes["beyond"], outcomes["changed"]) == (1, 0)
