"""Run broken variants until they are caught, several in parallel."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from tests.model.variants.variant import PACKAGE, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one variant.

    Attributes:
        reported: number of histories run.
        what: the violation of its own guarantee; None: not caught.
        others: number of these histories with other violations, by guarantee.
        error: why its process failed; "" if it did not.
    """

    variant: Variant
    reported: int
    what: str | None
    others: Mapping[str, int] = field(default_factory=dict)
    error: str = ""

    @property
    def is_caught(self) -> bool:
        """Whether the check of its own guarantee found it."""
        return self.what is not None


def catch(variant: Variant, *, seed: int, histories: int, steps: int) -> Verdict:
    """Run histories of a variant until one violates its guarantee where the unbroken product does not."""
    reported, others = 0, Counter[str]()
    while True:
        report = _tell(variant, (seed + reported, histories - reported, steps))
        reported += report.reported
        others.update(report.others)
        if report.what is None or report.error or reported >= histories:
            break
        if _tell(variant, (seed + reported - 1, 1, steps), "whole").what is None:
            break
        others[f"{variant.guarantee} also of the whole product"] += 1
    return Verdict(variant=variant, reported=reported, what=report.what, others=others, error=report.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """The output of a process of `tests.model.variants.telling`."""

    reported: int = 0
    what: str | None = None
    others: Mapping[str, int] = field(default_factory=dict)
    error: str = ""


def _tell(variant: Variant, numbers: tuple[int, int, int], *more: str) -> _Report:
    command = (sys.executable, "-m", "tests.model.variants.telling", variant.name, *map(str, numbers), *more)
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        return _Report(error=(done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    return _Report(**json.loads(done.stdout.splitlines()[-1]))


def catch_all(
    variants: tuple[Variant, ...], *, jobs: int, seed: int, histories: int, steps: int
) -> Iterator[Verdict]:
    """Yield the verdicts in order of completion."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(catch, each, seed=seed, histories=histories, steps=steps) for each in variants]
        for done in as_completed(waiting):
            yield done.result()
