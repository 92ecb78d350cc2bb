"""The report shows every figure that is judged, and says where one falls short."""

from dataclasses import replace

from tests.overload.attacks.table import ATTACKS, BY_NAME
from tests.overload.figures import RequestCost, Results
from tests.overload.report import all_shortfalls, markdown
from tests.overload.test_verdicts import GOOD

COST = RequestCost(shape="deep", request_bytes=65_000, status=403, cpu_s=1.0, grown_bytes=2048, repetitions=1)


def test_the_tables_show_each_figure_that_falls_short() -> None:
    """Of attacks and of single requests, in the tables and in the list that decides."""
    results = Results([replace(GOOD, wrong=3)], [COST])
    text = markdown(results, BY_NAME)
    assert "| deep | 100.0 % |" in text
    assert "3 wrong answers |" in text
    assert "| deep | 65,000 | 403 | 1000.0 | 2 |" in text
    assert all_shortfalls(results, BY_NAME) == [
        "deep: 3 wrong answers",
        "request 'deep': 1000 ms of CPU, not 50 ms at most",
    ]


def test_an_attack_that_could_not_be_run_falls_short() -> None:
    """It is not taken for one that was withstood."""
    results = Results(not_run=[("deep", "it did not start")])
    assert all_shortfalls(results, BY_NAME) == ["deep: not run: it did not start"]
    assert "`deep` could not be run: it did not start" in markdown(results, BY_NAME)


def test_each_attack_has_a_name_of_its_own() -> None:
    """`--only` finds it, and what is not demanded has its reason."""
    assert len(BY_NAME) == len(ATTACKS)
    assert all(attack.body or attack.trouble for attack in ATTACKS)
    assert [
        attack.name
        for attack in ATTACKS
        if not attack.expected.why and replace(attack.expected, stalls=None) != type(attack.expected)()
    ] == []
