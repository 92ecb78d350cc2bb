"""The verdict is the last line, and says what to do."""

from collections import Counter

from nncache.commands.audit_questions import AuditReport
from nncache.commands.audit_view import lines, report_as_json
from nncache.proxy.audit_judge import AuditOutcome


def report(*wrong: str, **outcomes: int) -> AuditReport:
    """Return one with these outcomes."""
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
    """A path cannot steer the terminal."""
    *_, wrong, verdict = lines(report("/w/\x1b[31m\n", same=9, beyond=1))
    assert wrong == "wrong answer from memory: /w/\\x1b[31m\\n"
    assert verdict.startswith("wrong: 1 of 10 answers from memory beyond the bound (Bounded is broken)")


def test_it_is_not_known() -> None:
    """Either nothing was compared, or something could not be proven."""
    (*_, verdict) = lines(report(unanswered=4))
    assert verdict.startswith("not known: no answer from memory could be compared")
    (*_, verdict) = lines(report(same=4, unproven=2))
    assert verdict.startswith("not known: 2 answers differ, and the proxy could not prove")


def test_for_programs() -> None:
    """Every outcome is there, also with 0."""
    found = report_as_json(report("/w/f", same=9, beyond=1))
    assert (found["verdict"], found["exit_code"], found["compared"]) == ("wrong", 1, 10)
    assert (found["not_from_memory"], found["wrong"]) == (3, ["/w/f"])
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert set(outcomes) == {outcome.value for outcome in AuditOutcome}
    assert (outcomes["beyond"], outcomes["changed"]) == (1, 0)
