"""What all benchmarks share: a figure is judged by its limits, and load that ends or hangs is an error."""

import asyncio
import json
import math
import multiprocessing
import shutil
from multiprocessing.connection import Connection
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nncache.bench import connects, growth, inotify, request_cost, run_pollers, waiting
from nncache.bench.shared.driver import AT_ONCE, Figure, Result, apart, at_once, benchmark, next_of, quantile
from nncache.testbed.errors import TestbedError


@pytest.mark.parametrize(
    ("figure", "is_met", "line"),
    [
        (Figure("calls", 3), True, "      calls: 3"),
        (Figure("p99", 0.25, "s", most=0.25), True, "met   p99: 0.25 s (at most 0.25)"),
        (Figure("p99", 0.26, "s", most=0.25), False, "SHORT p99: 0.26 s (at most 0.25)"),
        (Figure("edits", 49_999, least=50_000), False, "SHORT edits: 49,999 (at least 50,000)"),
        (Figure("p99", math.inf, "s", most=1), False, "SHORT p99: inf s (at most 1)"),
        (Figure("ratio", math.nan, least=0), False, "SHORT ratio: nan (at least 0)"),
    ],
)
def test_a_figure_is_judged_by_its_limits(figure: Figure, line: str, *, is_met: bool) -> None:
    """What is not a number, or was never measured, is not met."""
    assert (figure.is_met, figure.line) == (is_met, line)


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (2.0, 1)])
def test_a_shortfall_is_the_exit_code(tmp_path: Path, value: float, code: int) -> None:
    """All is written in any case."""

    @benchmark("bench-x")
    @click.option("--value", default=0.0)
    def main(value: float) -> Result:
        """Measure."""
        return Result(figures=[Figure("x", value, most=1)], table=["a table"])

    out = tmp_path / "made" / "here"
    done = CliRunner().invoke(main, ["--value", str(value), "--out", str(out)])
    assert done.exit_code == code
    assert done.output.startswith("a table\n")
    (figure,) = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    assert (figure["what"], figure["value"], figure["most"]) == ("x", value, 1)


def test_a_test_bed_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    """In words, and not with a traceback."""

    @benchmark("bench-x")
    def main() -> Result:
        """Measure."""
        raise TestbedError("no Java")

    done = CliRunner().invoke(main, ["--out", str(tmp_path)])
    assert (done.exit_code, done.output) == (1, "Error: no Java\n")


@pytest.mark.parametrize(
    ("command", "arguments", "text"),
    [
        (request_cost.main, ("--only", "nothing"), "there are repeated heads, 64 connections;"),
        (growth.main, ("--only", "nothing"), "there are filters; entries;"),
        (connects.main, ("--connects", "1000000000"), "files may be open here"),
        (waiting.main, ("--clients", "1"), "1 is not in the range"),
        (inotify.main, ("--restarts", "0"), "0 is not in the range"),
        (
            run_pollers.main,
            ("--workload", "nix"),
            "nix: No such file or directory; the ready workloads are design,",
        ),
        (
            run_pollers.main,
            ("--modes", "direct,apache"),
            "'apache' is not a valid Mode; there are direct, nncache,",
        ),
        (run_pollers.main, ("--also-periods", "1,often"), "'often'; seconds are wanted, such as 1,30"),
        (run_pollers.main, ("--also-periods", "0"), "each must be more than 0 seconds"),
        (run_pollers.main, ("--nncache", "localhost:1"), "name that, too (--namenode)"),
        (run_pollers.main, ("--namenode", "localhost:1"), "with --namenode, use --modes direct"),
    ],
)
def test_what_cannot_run_is_said_before_anything_starts(
    command: click.Command, arguments: tuple[str, ...], text: str
) -> None:
    """With what is allowed."""
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code != 0
    assert text in done.output


@pytest.mark.parametrize("program", ["wrk", "nginx", "haproxy"])
def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Before anything is started."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == program else f"/bin/{name}")
    done = CliRunner().invoke(request_cost.main)
    assert done.exit_code != 0
    assert f"{program} is missing: apt-get install {program}" in done.output


async def test_not_too_much_is_done_at_the_same_time() -> None:
    """All is done; the first error ends it, and what was not begun is not begun any more."""
    under_way, most, done = 0, 0, []

    async def work(number: int, bad: int = -1) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        if number == bad:
            raise ValueError(number)
        done.append(number)

    count = 3 * AT_ONCE + 1
    await at_once(work(number) for number in range(count))
    assert (sorted(done), most) == (list(range(count)), AT_ONCE)
    done.clear()
    with pytest.raises(ExceptionGroup):
        await at_once(work(number, bad=1) for number in range(count))
    assert len(done) < 2 * AT_ONCE


def test_quantiles_are_by_nearest_rank() -> None:
    """Of nothing there is no time within which it came."""
    assert [quantile([3.0, 1.0, 2.0, 4.0], share) for share in (0.0, 0.5, 0.51, 1.0)] == [1.0, 2.0, 3.0, 4.0]
    assert quantile([], 0.5) == math.inf


def says_one_thing(pipe: Connection, what: str) -> None:
    """Be a process of load that ends too early."""
    pipe.send(what)
    pipe.close()


def test_load_that_ends_or_hangs_is_an_error() -> None:
    """Nothing is waited for without an end."""
    with apart(says_one_thing, "ready") as pipe, pytest.raises(ConnectionError, match="has ended"):
        next_of(pipe, 60.0)
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs, pytest.raises(TimeoutError, match="hangs"):
        next_of(ours, 0.01)
