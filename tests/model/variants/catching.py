"""See that broken variants are caught, several at a time."""

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
    """What became of one variant.

    Attributes:
        reported: how many histories were told.
        what: the violation of its own guarantee; None: not caught.
        others: in how many of these histories something else was found, by guarantee.
        error: why its process ended badly; "" if it did not.
    """

    variant: Variant
    reported: int
    what: str | None
    others: Mapping[str, int] = field(default_factory=dict)
    error: str = ""

    @property
    def is_caught(self) -> bool:
        """Whether the check of its own guarantee has noticed it."""
        return self.what is not None


def catch(variant: Variant, *, seed: int, histories: int, steps: int) -> Verdict:
    """Tell histories of one variant until it is caught: in one in which the product as it is keeps its guarantee."""
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
    """What a process of `tests.model.variants.telling` said."""

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
    """Yield the verdicts as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(catch, each, seed=seed, histories=histories, steps=steps) for each in variants]
        for done in as_completed(waiting):
            yield done.result()
