"""The advice as files for other programs."""

from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from nncache.advisor.figures import Bracket, RecommendedFilter, Side
from nncache.advisor.outputs import Pseudonyms, filters_toml, in_bytes, named, percent, workload_toml
from nncache.advisor.report import as_markdown, write_report
from nncache.advisor.run import Advice, Load
from nncache.bench.shared.workload_files import load
from nncache.invalidation.filters.filter_file import parse_filters

SIDE = Side(
    reads=1_000,
    hits=Bracket(900, 990),
    saved=Bracket(880, 990),
    per_bucket={0: Bracket(380, 490), 1: Bracket(500, 500)},
    memory=Bracket(2_000, 4_000),
)
NONE = Side(reads=0, hits=Bracket(0, 0), saved=Bracket(0, 0), per_bucket={}, memory=Bracket(0, 0))


def filter_of(glob: str) -> RecommendedFilter:
    """Return figures of a filter."""
    return RecommendedFilter(name="", glob=glob, web=SIDE, rpc=NONE, paths=5, polled_every_s=6.0, changes=12)


ADVICE = Advice(
    lines=10_000,
    unknown=3,
    examples=("xx | `x`",),
    first_ms=0,
    last_ms=120_000,
    bucket_ms=60_000,
    counted_from=20_000,
    sample=1.0,
    statuses_web=4_000,
    statuses_rpc=500,
    of_open=100,
    asked={0: (5_000, 2_000), 1: (4_997, 2_500)},
    loads=(
        Load(title="user", rows=(("annabel", 9_000, 4_000), ("b|b", 900, 500))),
        Load(title="command", rows=(("open", 9, 0),)),
    ),
    ranger=(("annabel", "read", 7),),
    filters=named(
        [filter_of("/user/*/payroll/*/_SUCCESS"), filter_of("/user/[ab]/flow/*/_SUCCESS"), filter_of("/ä")]
    ),
    refused={"/*/x": "too general"},
)
UTC = ZoneInfo("UTC")


def test_names_are_made_of_globs_and_differ() -> None:
    """Whatever the glob, the name is valid for a filter."""
    same = named([filter_of("/a/*"), filter_of("/a/b*"), filter_of("/*a"), filter_of("/ä")])
    assert [each.name for each in same] == ["a", "a-b", "a-2", "filter"]


def test_filters_are_what_apply_reads() -> None:
    """Each filter has its reason and its cost in a comment above it."""
    text = filters_toml(ADVICE)
    assert {entry.name: entry.path_glob for entry in parse_filters(text)} == {
        each.name: each.glob for each in ADVICE.filters
    }
    assert all(entry.owner is None and entry.allowed_subscribers is None for entry in parse_filters(text))
    assert "# saves 19.6 to 22.0 %: 1000 reads of 5 paths" in text
    assert "# costs 2.0 KiB to 3.9 KiB in a proxy" in text


def test_the_workload_is_what_the_benchmark_reads(tmp_path: Path) -> None:
    """It has as many pollers as the log's poll rate requires, and the log's rate of changes."""
    file = tmp_path / "workload.toml"
    file.write_text(workload_toml(ADVICE))
    workload = load(str(file))
    assert (workload.globs, workload.paths, workload.period_s, workload.pollers) == (3, 15, 6.0, 180)
    assert workload.changes_per_s == 0.36
    file.write_text(workload_toml(replace(ADVICE, filters=())))
    assert load(str(file)).pollers == 1


def test_pseudonyms_hide_users_and_paths(tmp_path: Path) -> None:
    """Under one key, equal names stay equal; variable parts stay stars."""
    hidden = Pseudonyms(b"k").advice(ADVICE)
    write_report(tmp_path, hidden, UTC, with_filters=False)
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert "filters.toml" not in written
    for name, content in written.items():
        assert not any(word in content for word in (b"annabel", b"b|b", b"payroll", "ä".encode())), name
    pseudonyms = Pseudonyms(b"k")
    assert (
        pseudonyms.glob("/user/*/dt=*/_SUCCESS")
        == f"/{pseudonyms.name('user')}/*/{pseudonyms.name('dt=')}*/_SUCCESS"
    )
    assert Pseudonyms(b"l").name("user") != pseudonyms.name("user")


def test_a_relative_folder_may_have_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that is named by `date -Is`."""
    monkeypatch.chdir(tmp_path)
    write_report(Path("advice-2026-11-01T10:00:00+01:00"), ADVICE, UTC, with_filters=True)
    assert (tmp_path / "advice-2026-11-01T10:00:00+01:00" / "figures.parquet").stat().st_size > 0


def test_the_report_has_all_parts(tmp_path: Path) -> None:
    """All parts are in one folder; the page embeds its charts and fetches nothing."""
    write_report(tmp_path / "new", ADVICE, UTC, with_filters=True)
    names = {
        "asked.svg",
        "figures.json",
        "figures.parquet",
        "filters.svg",
        "filters.toml",
        "report.html",
        "report.md",
    }
    assert {file.name for file in (tmp_path / "new").iterdir()} == {*names, "workload.toml"}
    page = (tmp_path / "new" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "<img" not in page
    assert "src=" not in page
    text = as_markdown(ADVICE, UTC)
    assert "| `b\\|b` | 900 | 500 |" in text
    assert "3 (0.03 %) of the lines were not understood" in text
    assert "`/*/x`: too general" in text
    one = filter_of("/a/*")
    alone = as_markdown(replace(ADVICE, filters=named([replace(one, polled_every_s=0.5)])), UTC)
    assert "With 1 filter nncache" in alone
    assert "1 glob, in" in alone
    assert "| 5 | 0.5 s |" in alone
    assert "Nothing is asked often enough" in as_markdown(replace(ADVICE, filters=()), UTC)


def test_figures_are_short() -> None:
    """A range shows both ends unless they look the same."""
    assert (percent(Bracket(0.123, 0.5)), percent(Bracket(0.12301, 0.12302))) == ("12.3 to 50.0 %", "12.3 %")
    assert [in_bytes(count) for count in (5, 2_048, 3 * 2**20, 5 * 2**30)] == [
        "5 B",
        "2.0 KiB",
        "3.0 MiB",
        "5.0 GiB",
    ]
