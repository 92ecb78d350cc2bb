"""Fuzz the targets in parallel, each in its own processes."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import atheris

from tests.hostile.fuzzing.target import Target
from tests.quiet import be_quiet

ROOT: Final = Path(__file__).resolve().parents[3]
FOUND: Final = ROOT / "build" / "hostile"
"""The folder of the inputs that break a target, and of the corpus that each run leaves for the next."""

_SLOWEST_INPUT_S: Final = 300  # an input that takes longer counts as hung; the machine may be very busy
_MAX_RESIDENT_MB: Final = 2048
_STATE: Final = re.compile(r"#(\d+)\s.*?cov: (\d+) .*?corp: (\d+)/")
_REASON: Final = re.compile(
    r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b.*|^==\d+== ERROR: .*", re.MULTILINE
)


@dataclass(kw_only=True)
class FuzzFigures:
    """The figures of one target.

    Attributes:
        executions: number of inputs tried.
        seconds: duration.
        edges: edges reached in the product's instrumented code.
        corpus: inputs that each reach an edge which no other reaches.
        broken: the failure, and the input that shows it; "" if there is none.
    """

    target: str
    executions: int = 0
    seconds: float = 0.0
    edges: int = 0
    corpus: int = 0
    broken: str = ""

    def line(self) -> str:
        """Return the figures in one line."""
        return (
            f"{self.target:<20} {self.executions:>10,} executions in {self.seconds:>5.0f} s, "
            f"{self.edges:>5,} edges, {self.corpus:>5,} inputs kept{f', BROKEN: {self.broken}' if self.broken else ''}"
        )

    def shortfalls(self, *, executions: int, seconds: float) -> list[str]:
        """Return each requirement that the run does not meet."""
        if self.broken:
            return [f"{self.target}: {self.broken}"]
        short = []
        if self.executions < executions:
            short.append(f"{self.target}: {self.executions:,} executions instead of {executions:,}")
        if self.seconds < seconds:
            short.append(f"{self.target}: {self.seconds:.0f} s instead of {seconds:.0f}")
        return short


Progress = Callable[[FuzzFigures], None]
"""Called from time to time with a target's figures so far."""


def run(
    targets: Sequence[Target], *, executions: int, seconds: float, jobs: int, progress: Progress
) -> Iterator[FuzzFigures]:
    """Try at least this number of inputs of each target, for at least this time; yield each one's figures."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_fuzz, each, executions, seconds, progress) for each in targets]
        for done in as_completed(waiting):
            yield done.result()


def _fuzz(target: Target, executions: int, seconds: float, progress: Progress) -> FuzzFigures:
    figures = FuzzFigures(target=target.name)
    corpus = FOUND / target.name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        seeds = Path(place)
        for number, seed in enumerate((*target.seeds, *target.kept())):
            (seeds / str(number)).write_bytes(seed)
        while not figures.broken and figures.shortfalls(executions=executions, seconds=seconds):
            left = executions - figures.executions
            limit = f"-runs={left}" if left > 0 else f"-max_total_time={1 + int(seconds - figures.seconds)}"
            before = figures.executions
            _round(target, (str(corpus), str(seeds), limit), before, figures, progress)
            figures.seconds = time.monotonic() - began
            if figures.executions == before and not figures.broken:
                figures.broken = "the fuzzer tried nothing"
    return figures


def _round(
    target: Target, arguments: Sequence[str], before: int, figures: FuzzFigures, progress: Progress
) -> None:
    """Run one process until it ends."""
    left = FOUND / target.name / "broken-"
    command = (
        sys.executable, "-m", "tests.hostile.fuzzing.running", target.name, ",".join(target.modules), *arguments,
        f"-max_len={target.max_bytes}", f"-timeout={_SLOWEST_INPUT_S}", f"-rss_limit_mb={_MAX_RESIDENT_MB}",
        f"-artifact_prefix={left}", "-print_final_stats=1",
    )  # fmt: skip
    output: list[str] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                state = _STATE.match(line)
                if state is None:
                    output.append(line)
                    continue
                figures.executions = before + int(state[1])
                figures.edges, figures.corpus = int(state[2]), int(state[3])
                progress(figures)
            process.wait()
        finally:
            process.kill()  # it has ended, unless this process was interrupted
    if process.returncode:
        text = "".join(output)
        reason = _REASON.search(text)
        kept = re.search(r"Test unit written to (\S+)", text)
        figures.broken = (reason[0] if reason else text[-500:]) + (f" (input: {kept[1]})" if kept else "")


def main(name: str, modules: str, arguments: list[str]) -> None:
    """Try inputs until a limit of libFuzzer is reached, or until one breaks the target."""
    with atheris.instrument_imports(include=modules.split(",")):
        from tests.hostile.fuzzing.table import TARGETS  # noqa: PLC0415 - imports the product, to be instrumented
    be_quiet()
    atheris.Setup(["fuzz", *arguments], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
