"""Run the probes of `nncache check` and show that they run."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import uvloop
from rich.console import Console

from nncache.checks.facts import Facts
from nncache.checks.finding import Finding, Verdict
from nncache.checks.gathering import gather
from nncache.checks.subject import Subject
from nncache.checks.table import CheckResult
from nncache.clock import boottime
from nncache.logs import one_line


def gathered(subject: Subject, tell: Callable[[str], None]) -> Facts:
    """Return what the probes find."""
    log = logging.getLogger("nncache")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what is wrong is in the findings
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(gather(subject, boottime, tell))
    finally:
        log.setLevel(level)


@contextmanager
def waiting() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done; yields what to tell it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("checking") as status:
        yield lambda text: status.update(f"checking {text}")


_COLOURS: Final[Mapping[Verdict, str]] = {
    Verdict.OK: "green",
    Verdict.WARNING: "yellow",
    Verdict.FAILED: "red",
    Verdict.SKIPPED: "bright_black",
}


def lines(results: Iterable[CheckResult]) -> Iterator[tuple[str, str, str]]:
    """Yield verdict, colour and the rest of each line."""
    for result in results:
        for finding in result.findings:
            yield (
                f"{finding.verdict.value:<8}",
                _COLOURS[finding.verdict],
                f"{result.check:<15} {_of(result)}{one_line(_sentence(finding))}",
            )


def _of(result: CheckResult) -> str:
    return f"[{result.namespace}] " if result.namespace else ""


def _sentence(finding: Finding) -> str:
    return f"{finding.text}; to do: {finding.remedy}" if finding.remedy else finding.text


def summary(results: Sequence[CheckResult], seconds: float) -> str:
    """Return the last line."""
    counted = Counter(finding.verdict for result in results for finding in result.findings)
    return ", ".join(f"{counted[verdict]} {verdict.value}" for verdict in Verdict) + f" in {seconds:.1f} s"


def as_json(results: Sequence[CheckResult], exit_code: int) -> str:
    """Return all of it as one JSON object."""
    return json.dumps(
        {
            "exit_code": exit_code,
            "findings": [
                {
                    **({"namespace": result.namespace} if result.namespace else {}),
                    "check": result.check,
                    "verdict": finding.verdict.value,
                    "text": finding.text,
                    "remedy": finding.remedy,
                }
                for result in results
                for finding in result.findings
            ],
        },
        indent=2,
    )
