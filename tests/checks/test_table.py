"""The table of checks: every check reports, and the findings determine the exit code."""

import pytest

from nncache.checks.facts import HostFound
from nncache.checks.finding import CheckVerdict, Finding, failed, ok, skipped, warning
from nncache.checks.table import CHECKS, CheckResult, exit_code, judged
from tests.checks.samples import of_proxy, of_publisher


def test_each_check_says_something_whatever_is_found() -> None:
    """Without facts no check passes silently, and no failure lacks a remedy."""
    for facts in (of_proxy(), of_publisher()):
        results = judged(facts)
        assert [result.check for result in results] == [check.name for check in CHECKS]
        for result in results:
            assert result.findings, result.check
            for finding in result.findings:
                needs_remedy = finding.verdict in {CheckVerdict.FAILED, CheckVerdict.WARNING}
                assert bool(finding.remedy) is needs_remedy, finding


def test_without_a_login_one_check_says_why() -> None:
    """The checks that need a login are skipped because of it."""
    results = judged(of_proxy(host=HostFound(login="no ticket")))
    failing = [
        each.check for each in results for found in each.findings if found.verdict is CheckVerdict.FAILED
    ]
    because = [each.check for each in results if each.findings == (skipped("of identity"),)]
    assert failing == ["identity"]
    assert because == [check.name for check in CHECKS if check.needs_login]
    assert {"authentication", "rpc", "read", "through", "impersonation"} < set(because)


def test_names_are_distinct_and_meanings_are_sentences() -> None:
    """They are printed in the documentation."""
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.meaning.endswith(".") for check in CHECKS)


@pytest.mark.parametrize(
    ("finding", "code", "strict"),
    [
        (ok("x"), 0, 0),
        (skipped("x"), 0, 0),
        (warning("x", "y"), 0, 1),
        (failed("x", "y"), 1, 1),
    ],
)
def test_the_exit_code(finding: Finding, code: int, strict: int) -> None:
    """Skipped checks do not fail. Warnings fail with `strict`."""
    results = (CheckResult("a", (ok("z"),)), CheckResult("b", (finding,)))
    assert (exit_code(results, strict=False), exit_code(results, strict=True)) == (code, strict)
