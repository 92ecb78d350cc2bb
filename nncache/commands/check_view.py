"""Show what checks have come to: lines for people, JSON for programs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from nncache.checks.finding import Finding, Verdict
from nncache.checks.table import Result
from nncache.logs import one_line

_COLOURS: Final[Mapping[Verdict, str]] = {
    Verdict.OK: "green",
    Verdict.WARNING: "yellow",
    Verdict.FAILED: "red",
    Verdict.SKIPPED: "bright_black",
}


def lines(results: Iterable[Result]) -> Iterator[tuple[str, str, str]]:
    """Yield verdict, colour and the rest of each line."""
    for result in results:
        for finding in result.findings:
            yield (
                f"{finding.verdict.value:<8}",
                _COLOURS[finding.verdict],
                f"{result.check:<15} {_of(result)}{one_line(_sentence(finding))}",
            )


def _of(result: Result) -> str:
    return f"[{result.namespace}] " if result.namespace else ""


def _sentence(finding: Finding) -> str:
    return f"{finding.text}; to do: {finding.remedy}" if finding.remedy else finding.text


def summary(results: Sequence[Result], seconds: float) -> str:
    """Return the last line."""
    counted = Counter(finding.verdict for result in results for finding in result.findings)
    return ", ".join(f"{counted[verdict]} {verdict.value}" for verdict in Verdict) + f" in {seconds:.1f} s"


def as_json(results: Sequence[Result], exit_code: int) -> str:
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
