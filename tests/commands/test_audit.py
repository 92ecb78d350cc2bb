"""`nncache audit` asks about the paths that are meant, and ends with a verdict."""

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from nncache.commands.audit import audit
from nncache.commands.audit_questions import Questions
from nncache.commands.group import nncache
from tests.http_server import Answer, serving
from tests.processes import free_address


class Simulation:
    """Admin port, proxy and NameNode at one address: all that a proxy is asked is answered alike."""

    def __init__(self) -> None:
        self.address = ""
        self.paths = ["/w/a", "/w/b"]
        self.asked: list[str] = []
        self.user_names: set[str] = set()
        self.lengths: list[int] = []  # of the next replies; 1 behind their end

    def answer(self, target: str) -> tuple[int, Mapping[str, Any]]:
        """Return status and JSON."""
        parts = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/status":
                return 200, {"settings": {"listen": self.address}, "gate": {"max_staleness_s": 3.0}}
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
    """Serve one."""
    found = Simulation()

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        status, document = found.answer(request.path)
        return status, {"Cache-Status": "nncache; hit"}, json.dumps(document).encode()

    with serving(answer) as found.address:
        yield found


def run(simulation: Simulation, *words: str) -> Result:
    """Run it for a moment, fast."""
    quick = ("--admin", simulation.address, "--rate", "200", "--seconds", "0.2", "--user", "hdfs")
    return CliRunner().invoke(audit, [*words, *quick])


def test_what_the_proxy_holds_is_asked_about(simulation: Simulation) -> None:
    """Of a filter, too, and as the user."""
    for words in ([], ["--filter", "ours"], ["--proxy", simulation.address]):
        simulation.asked.clear()
        result = run(simulation, *words)
        assert "right: " in result.output
        assert result.exit_code == 0
        assert set(simulation.asked) == {"/w/a", "/w/b"}
    assert simulation.user_names == {"hdfs"}


def test_given_paths_are_asked_about(simulation: Simulation) -> None:
    """In any spelling."""
    assert run(simulation, "//x/y/").exit_code == 0
    assert set(simulation.asked) == {"/x/y"}


def test_a_wrong_answer_is_exit_code_1(simulation: Simulation) -> None:
    """The proxy has proven that it knows all changes, and still holds it."""
    simulation.lengths = [1, 2]
    result = run(simulation, "/w/f", "--json")
    found = json.loads(result.output)
    assert (result.exit_code, found["exit_code"], found["verdict"]) == (1, 1, "wrong")
    assert found["wrong"] == ["/w/f"]


def test_an_empty_cache_is_exit_code_2(simulation: Simulation) -> None:
    """Nothing was compared."""
    simulation.paths = []
    result = run(simulation)
    assert result.exit_code == 2
    assert "not known: no answer from memory could be compared" in result.output


def test_a_proxy_that_goes_away_leaves_a_report(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does Ctrl-C."""
    asked = Questions.ask

    def ask(self: Questions, path: str) -> None:
        asked(self, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(Questions, "ask", ask)
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
    """Exit code 2."""
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
    """1 says that answers are wrong."""
    nothing = free_address()
    said = [word.replace("ADMIN", nothing) for word in words]
    result = CliRunner().invoke(nncache, ["audit", "--admin", simulation.address, *said])
    assert result.exception is not None
    assert getattr(result.exception, "exit_code", None) == 2
    assert error in str(result.exception)
