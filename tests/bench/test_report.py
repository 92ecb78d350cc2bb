"""What a run's report says of its figures: savings against sums done by hand, sentences, rounding, tables."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nncache.auditing.audit_judge import AUDIT_OUTCOMES
from nncache.bench.report.finding import freshness, late_periods, load, meanwhile, schedule, verdict
from nncache.bench.report.rounding import NONE, counted, duration, number, percent, ratio, saved
from nncache.bench.report.savings import (
    Saving,
    all_calls_per_s,
    polls_asked_per_s,
    savings,
    share_of_calls_saved,
    share_of_cpu_saved,
    share_saved,
)
from nncache.bench.report.table import MOST_WRONG, PROOF, WIDTH, as_markdown, as_text, markdown
from nncache.bench.report.write import page, write_report
from nncache.bench.shared.driver import Figure
from nncache.bench.shared.figures import ModeFigures
from tests.bench import example_figures as example

LONG = "a name that is far longer than any column could ever be, " * 4
INFO = example.info()


def test_a_mode_that_was_not_measured_is_left_out() -> None:
    """In each sentence; without any mode the sentence says that."""
    unknown = replace(example.nncache(), cpu_s={"proxy": 9.6})
    assert load(INFO, (example.nncache(),)).endswith(
        "the NameNode answers 37.2 calls/s through nncache, and uses 4.00 % of a core"
    )
    assert load(INFO, (example.direct(), unknown)).endswith(
        "answers 2,000 calls/s directly, 37.2 through nncache"
    )
    assert load(INFO, ()) == "10,000 pollers, 2,000 polls/s: nothing was measured"
    assert freshness((example.nothing_happened(),)) == "No change was seen; wrong answers: 0 through nncache"
    assert freshness(()) == "No change was seen"


def test_upkeep_of_a_publisher_that_runs_anyway_is_not_directs() -> None:
    """On a cluster of one's own it polls the edits all the time; nginx needs none either."""
    upkeep = {"getEditsFromTxid": 3_000, "probe (JMX)": 120}
    beside = tuple(replace(mode, upkeep=upkeep) for mode in example.modes())
    assert load(INFO, beside[::2]) == load(INFO, example.modes()[::2])
    assert share_of_calls_saved(beside[1], beside) == pytest.approx(1 - all_calls_per_s(beside[1]) / 2_000)
    assert meanwhile(beside) == (
        "A publisher or a proxy of nncache ran while polls went straight to the NameNode: its 52.0 calls a second are "
        "left out of what is said of direct; their CPU is part of it"
    )
    assert meanwhile(example.modes()) == ""


def test_a_load_at_which_nncache_does_not_pay_is_said() -> None:
    """With so few polls that reading the edits costs more."""
    few = replace(example.direct(), calls={"getFileInfo": 1_200})
    modes = few, replace(example.nncache(), calls={"getFileInfo": 60}, upkeep={"getEditsFromTxid": 5_880})
    assert verdict(modes) == (
        "At this load nncache costs the NameNode more calls than it saves: 99.0 a second in place of 20.0; 98.0 of "
        "them read what has changed, however little is polled"
    )
    assert verdict(example.modes()) == verdict(()) == verdict(modes[:1]) == ""


def test_all_modes_that_were_late_are_named() -> None:
    """Also at further periods, by how much each; nothing is said where none was."""
    late = tuple(replace(mode, kept_schedule=mode.mode == "nncache") for mode in example.modes())
    assert schedule(late) == "The generator did not keep its schedule: direct, nginx"
    assert schedule(example.modes()) == ""
    often = replace(example.also()[0], modes=late)
    assert ", 0 of 120,000 polls not sent; through nginx by p99 " in late_periods((often,))[0]
    assert late_periods(example.also()[1:]) == ()


def rows(found: tuple[Saving, ...]) -> list[tuple[str, float, float, float, bool]]:
    """Return the rows without their shares."""
    return [
        (row.mode, row.period_s, row.direct_calls_per_s, row.calls_per_s, row.is_measured) for row in found
    ]


def test_periods_that_were_not_run_are_computed() -> None:
    """10 changes/s of 1.12 calls each are 11.2 calls/s at any period; without a cache there is one for each poll."""
    found = savings(example.modes(), example.info(), (), (1.0, 5.0, 30.0))
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, pytest.approx(333.333, abs=0.001), 11.2, False),
    ]
    assert [row.share for row in found] == pytest.approx([0.99888, 0.9944, 0.7, 0.9664])


def test_another_period_is_measured_if_its_schedule_was_kept() -> None:
    """30 s was (in a third of the time, with 333 calls a second directly), 1 s was not."""
    found = savings(example.modes(), example.info(), example.also())
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, 333.0, 10.0, True),
    ]
    assert found[3].share == pytest.approx(1 - 10 / 333)


@pytest.mark.parametrize("late", ["direct", "nncache"])
def test_what_was_measured_too_slowly_is_computed(late: str) -> None:
    """If the generator fell behind, in this mode or in `direct`, nothing was measured at that period."""
    modes = tuple(replace(mode, kept_schedule=mode.mode != late) for mode in example.modes())
    found = savings(modes, example.info(), (), ())
    (row,) = (row for row in found if row.mode == "nncache")
    assert not row.is_measured
    assert row.direct_calls_per_s == 2_000.0


def test_no_cache_asks_more_often_than_it_is_asked() -> None:
    """With polls rarer than changes, at most a call for each poll; nothing is said of a mode without polls."""
    modes = (replace(example.nncache(), calls={"getFileInfo": 60_000}), example.nothing_happened())
    (at_the_period, rare) = savings(modes, example.info(), (), (30.0,))
    assert (at_the_period.share, rare.share) == (0.5, 0.0)
    assert not at_the_period.is_measured, "there is no direct mode to compare with"


def test_all_calls_and_the_cpu_are_saved_less() -> None:
    """Polls of the edits and probes come without any poll, at any period; an idle NameNode uses CPU as well."""
    found = savings(example.modes(), example.info(), example.also())
    often, at_the_period, by_nginx, rare = found
    assert [row.all_per_s for row in found] == pytest.approx(
        [37.2, 37.2, 600.0, 10 + 5 * 3 + 21 * 3 - 15 + 0.0]
    )
    assert (often.direct_all_per_s, rare.direct_all_per_s) == (10_000.0, 333.0)
    assert (at_the_period.share_of_all, at_the_period.share_of_cpu) == pytest.approx((0.9814, 0.95))
    assert (by_nginx.share_of_all, by_nginx.share_of_cpu) == pytest.approx((0.7, 0.6875))
    assert math.isnan(often.share_of_cpu), "not all polls were sent directly"
    assert (rare.direct_cores, rare.cores) == pytest.approx((48 / 20, 2.4 / 20))


def test_of_a_period_that_was_not_run_no_cpu_is_known() -> None:
    """It is not computed: how much an idle NameNode uses is not known."""
    (row,) = (each for each in savings(example.modes(), example.info(), (), (30.0,)) if each.period_s == 30.0)
    assert math.isnan(row.cores)
    assert row.share_of_all == pytest.approx(1 - 37.2 / (2_000 / 6))


def test_paths_count_as_polls() -> None:
    """A poller with three paths polls three times a period."""
    info = replace(example.info(), workload={"pollers": 100, "paths_per_poller": 3})
    assert polls_asked_per_s(info, 6.0) == 50.0
    assert math.isnan(polls_asked_per_s(replace(info, workload={}), 6.0))


def test_more_calls_than_polls_are_less_than_nothing_saved() -> None:
    """A cache that asks one and a half times as often saves -50 %."""
    worse = replace(example.nncache(), calls={"getFileInfo": 180_000})
    assert share_saved(worse, example.modes()) == -0.5
    assert math.isnan(share_saved(example.direct(), example.modes()))
    assert math.isnan(share_saved(worse, (worse,)))
    assert share_of_calls_saved(example.nncache(), example.modes()) == pytest.approx(0.9814)
    assert share_of_cpu_saved(example.nncache(), example.modes()) == pytest.approx(0.95)
    unknown = replace(example.nncache(), cpu_s={})
    assert math.isnan(share_of_cpu_saved(unknown, example.modes()))


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (
            number,
            {0: "0", 1_234_567.8: "1,234,568", 999.6: "1,000", 99.96: "100", 11.2: "11.2", 9.996: "10.0"},
        ),
        (number, {0.0056: "0.00560", 1e-5: "1.00e-05", -5: "-5.00", math.nan: NONE, None: NONE}),
        (percent, {1: "100 %", 0.999999: ">99.99 %", 0.9944: "99.44 %", 0.00001: "<0.01 %", 0: "0 %"}),
        (percent, {-0.25: "-25.00 %", math.nan: NONE, None: NONE}),
        (
            saved,
            {0.9414: "94.14 % saved", 0: "0 % saved", -1.2125: "121.25 % more", math.nan: NONE, None: NONE},
        ),
        (
            duration,
            {0.0021: "2.10 ms", 0.9999: "1.00 s", 1: "1.00 s", 61: "61.0 s", math.nan: NONE, None: NONE},
        ),
    ],
)
def test_three_digits_count(form: Callable[[float | None], str], shown: dict[float | None, str]) -> None:
    """Greater numbers have all digits before the point; a share is never rounded to all or to nothing."""
    assert {value: form(value) for value in shown} == shown


def test_one_is_not_many_and_nothing_divides_by_nothing() -> None:
    """One thing has no plural; what can't be divided is no number, not an error."""
    assert [counted(count, "poll") for count in (0, 1, 2_000)] == ["0 polls", "1 poll", "2,000 polls"]
    assert ratio(3, 2) == 1.5
    assert math.isnan(ratio(3, 0))
    assert math.isnan(ratio(None, 2))


def table(*modes: ModeFigures) -> dict[str, tuple[str, ...]]:
    """Return the rows of all tables of these modes' report, by label."""
    lines = as_markdown(example.info(), modes, (), example.also()).splitlines()
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {label.replace("\\", ""): tuple(row) for label, *row in cells}


@pytest.mark.parametrize(
    ("worse", "label"),
    [
        ({"sent": 119_999}, "polls sent"),
        ({"failed": 1}, "polls failed"),
        ({"wrong_count": 1}, "WRONG answers"),
        ({"kept_schedule": False}, "kept its schedule"),
        ({"audited": {"same": 5, "beyond": 1}}, AUDIT_OUTCOMES["beyond"]),
    ],
)
def test_bad_news_stands_out(worse: dict[str, object], label: str) -> None:
    """In its own cell and in no other one."""
    bad = replace(example.nncache(), **worse)  # type: ignore[arg-type] # whatever the case says
    found = table(example.direct(), bad).items()
    bold = {(row, n) for row, cells in found for n, cell in enumerate(cells) if cell.startswith("**")}
    assert bold == {(label, 1)}


def test_what_only_some_modes_have_has_rows() -> None:
    """Replies by how they were made but for hits, calls that the table does not know, servers that were there."""
    says = replace(
        example.nncache(),
        answers={"hit": 119_000, "miss": 900, PROOF: 1_100},
        calls={"getFileInfo": 10, "getContentSummary": 2_000},
    )
    found = table(example.direct(), says)
    assert found['replies said to be "miss"'] == (NONE, "900")
    assert found[f'replies said to be "{PROOF}"'] == (NONE, "1,100")
    assert found["of them to prove a caller's right again"] == (NONE, "1,100")
    assert 'replies said to be "hit"' not in found
    assert found["getContentSummary calls"] == ("0", "2,000")
    assert found["calls in all per change"] == ("200", "3.35")
    assert "nginx CPU, s" not in found


def test_cpu_for_polls_is_what_is_beyond_that_without() -> None:
    """Of 48 s directly and 2.4 s through nncache, 2 s are not for polls; without that mode it is not known."""
    modes = example.direct(), example.nncache(), replace(example.unpolled(), cpu_s={"namenode": 2.0})
    found = table(*modes)
    assert found["NameNode CPU for polls: beyond that without any"] == ("76.67 %", "0.67 %", "0 %")
    assert found["of that saved against direct"] == (NONE, "99.13 %", NONE)
    assert "NameNode CPU for polls: beyond that without any" not in table(*modes[:2])
    assert found["NameNode CPU saved against direct"] == (NONE, "95.00 %", NONE)
    assert load(INFO, modes).endswith(
        "37.2 through nncache, and uses 80.0 %, 4.00 % of a core; 3.33 % without polls"
    )


def test_wrong_answers_are_listed() -> None:
    """The first hundred of each mode, with what was wrong with them; or the text that there are none."""
    text = as_markdown(example.info(), example.modes(), ())
    assert "1,234 in all, of which 100 are listed" in text
    assert "| nginx | 4000 | 0 | 12.500 | 12.501 | 404 | HIT | never was true |" in text
    assert "| nginx | 4099 | 99 | 111.500 | 111.501 | 404 | HIT | 102 s |" in text
    more = replace(example.nginx(), wrong=tuple(map(example.wrong_answer, range(150))))
    assert as_markdown(example.info(), (more,), ()).count("| HIT |") == MOST_WRONG
    assert "## Wrong answers\n\nNone." in as_markdown(example.info(), (example.nncache(),), ())


def test_no_line_is_wider_than_a_terminal() -> None:
    """Long names are wrapped, and control characters do not reach the terminal."""
    info = replace(example.info(), workload={"name": f"\x1b[2J\n{LONG}", "pollers": 10}, master=LONG)
    odd = replace(example.nginx(), mode=LONG, upkeep={LONG: 3}, calls={LONG: 5, "getFileInfo": 10**12})
    text = as_text(info, (*example.modes(), odd, odd), (Figure(LONG, 1, LONG),))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "\x1b" not in text


def test_a_run_without_figures_has_a_table() -> None:
    """Nothing polled, nothing changed, nothing counted: dashes, no error and no 'nan'."""
    for modes in ((), (example.nothing_happened(),)):
        for form in (as_text, as_markdown):
            text = form(example.info(), modes, ())
            assert "nan" not in text.lower().replace("namenode", "")
            assert "latency p99.9, ms" in text
    assert table(example.nothing_happened())["latency p99.9, ms"] == (NONE,)


def test_a_command_stays_a_command() -> None:
    """Each line of it is set as code, whatever is in it."""
    info = replace(example.info(), command="one ```\n# two")
    assert "\n    one ```\n    # two\n" in as_markdown(info, (), ())


def test_markdown_shows_a_text_as_it_is() -> None:
    """No text becomes a link, a cell, a tag or a second line."""
    assert markdown("a|b\n<i>[x](y) `c` *d* & e_f") == (r"a\|b &lt;i&gt;\[x\](y) \`c\` \*d\* &amp; e\_f")


@pytest.mark.parametrize("modes", [example.modes(), (), (example.nothing_happened(),)])
def test_a_report_is_written_of_whatever_was_run(tmp_path: Path, modes: tuple[ModeFigures, ...]) -> None:
    """Its page needs nothing beside it."""
    write_report(tmp_path / "made", example.info(), modes, example.CHECKS, example.also() if modes else ())
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        *("README.md", "figures.json", "main.png", "report.html", "savings.png")
    }
    html = (tmp_path / "made" / "report.html").read_text(encoding="utf-8")
    assert html.count('src="data:image/png;base64,') == html.count("<img ") > 0
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_a_page_takes_html_for_text() -> None:
    """Of whatever a run was called."""
    assert "<b>" not in page("<b>", "# <b>x</b>\n\n![<b>](main.png)", {"main": b"png"}).partition("<body")[2]
