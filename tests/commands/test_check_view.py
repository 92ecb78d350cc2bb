"""What checks have come to, for people and for programs."""

import json

from nncache.checks.finding import failed, ok, skipped, warning
from nncache.checks.table import Result
from nncache.commands.check_view import as_json, lines, summary

RESULTS = (
    Result("states", (ok("a is active"), warning("b\nis slow", "wake it"))),
    Result("edits", (failed("refused", "set --user"), skipped("c is away"))),
)


def test_a_line_for_each_finding() -> None:
    """Whatever a server says, it stays one line."""
    assert [verdict + " " + rest for verdict, _, rest in lines(RESULTS)] == [
        "ok       states          a is active",
        "warning  states          b\\nis slow; to do: wake it",
        "failed   edits           refused; to do: set --user",
        "skipped  edits           because c is away",
    ]


def test_the_last_line_counts() -> None:
    """Every verdict, and the time."""
    assert summary(RESULTS, 1.25) == "1 ok, 1 warning, 1 failed, 1 skipped in 1.2 s"


def test_json_has_all_of_it() -> None:
    """One object, with the exit code."""
    printed = json.loads(as_json(RESULTS, 1))
    assert printed["exit_code"] == 1
    assert printed["findings"][2] == {
        "check": "edits",
        "verdict": "failed",
        "text": "refused",
        "remedy": "set --user",
    }
    assert len(printed["findings"]) == 4


def test_of_several_namespaces_each_is_named() -> None:
    """In the line, and by a key of its own."""
    results = (Result("states", (ok("a is active"),), "lake"),)
    assert [rest for _, _, rest in lines(results)] == ["states          [lake] a is active"]
    (finding,) = json.loads(as_json(results, 0))["findings"]
    assert (finding["namespace"], finding["text"]) == ("lake", "a is active")
