"""The benchmarks' common driver: figures are checked against limits, and load that ends early or hangs is an error."""

import json
import math
import multiprocessing
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nncache.bench import connects, request_cost, run_pollers
from nncache.bench.shared.driver import BenchResult, Figure, apart, benchmark, next_of
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


def test_pollers_without_java_are_no_shortfall_of_figures(tmp_path: Path) -> None:
    """Spark does not start: that is a message, and an exit code of its own."""
    done = subprocess.run(
        (sys.executable, "bench/run_pollers.py", "--modes", "direct", "--out", str(tmp_path)),
        capture_output=True,
        text=True,
        env={"PATH": "", "PYTHONPATH": str(Path.cwd())},
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "run_pollers: Spark, which needs Java 17, does not start: [JAVA_GATEWAY_EXITED]" in done.stderr


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
