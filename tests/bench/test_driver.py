"""The benchmarks' common driver: figures are checked against limits, and load that ends early or hangs is an error."""

import asyncio
import json
import math
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nncache.bench import connects, request_cost, run_pollers
from nncache.bench.shared.driver import AT_ONCE, BenchResult, Figure, apart, at_once, benchmark, next_of
from nncache.testbed.errors import TestbedError


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (2.0, 1), (math.inf, 1), (math.nan, 1)])
def test_a_shortfall_is_the_exit_code(tmp_path: Path, value: float, code: int) -> None:
    """A figure that is no number, or was not measured, falls short. The files are written in any case."""

    @benchmark("bench-x")
    @click.option("--value", default=0.0)
    def main(value: float) -> BenchResult:
        """Measure."""
        return BenchResult(figures=[Figure("x", value, most=1)], table=["a table"])

    out = tmp_path / "made" / "here"
    done = CliRunner().invoke(main, ["--value", str(value), "--out", str(out)])
    assert done.exit_code == code
    assert done.output.startswith("a table\n")
    (figure,) = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    assert (figure["what"], figure["most"]) == ("x", 1)


def test_a_test_bed_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    """It is a message, and not a traceback."""

    @benchmark("bench-x")
    def main() -> BenchResult:
        """Measure."""
        raise TestbedError("no Java")

    done = CliRunner().invoke(main, ["--out", str(tmp_path)])
    assert (done.exit_code, done.output) == (1, "Error: no Java\n")


@pytest.mark.parametrize(
    ("command", "arguments", "text"),
    [
        (request_cost.main, ("--only", "nothing"), "there are repeated heads, 64 connections;"),
        (connects.main, ("--connects", "1000000000"), "files may be open here"),
        (
            run_pollers.main,
            ("--workload", "nix"),
            "nix: No such file or directory; the ready workloads are design,",
        ),
        (run_pollers.main, ("--also-periods", "1,often"), "'often'; seconds are wanted, such as 1,30"),
        (run_pollers.main, ("--nncache", "localhost:1"), "name that, too (--namenode)"),
        (run_pollers.main, ("--namenode", "localhost:1"), "with --namenode, use --modes direct"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    command: click.Command, arguments: tuple[str, ...], text: str
) -> None:
    """The message has the allowed values."""
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code != 0
    assert text in done.output


async def test_not_too_much_is_done_at_the_same_time() -> None:
    """All calls are made; the first error stops the start of further ones."""
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


def says_one_thing(pipe: Connection, what: str) -> None:
    """Act as a load process that ends too early."""
    pipe.send(what)
    pipe.close()


def test_load_that_ends_or_hangs_is_an_error() -> None:
    """No wait is unbounded."""
    with apart(says_one_thing, "ready") as pipe, pytest.raises(ConnectionError, match="has ended"):
        next_of(pipe, 60.0)
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs, pytest.raises(TimeoutError, match="hangs"):
        next_of(ours, 0.01)
