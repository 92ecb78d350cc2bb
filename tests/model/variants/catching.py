"""See that broken variants are caught, several at a time."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

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


Progress = Callable[[Variant, int], None]
"""Told how many histories of a variant were told."""


def catch(
    variant: Variant, *, seed: int, histories: int, steps: int, progress: Progress = lambda *_: None
) -> Verdict:
    """Tell histories of one variant until it is caught: in one in which the product as it is keeps its guarantee."""
    reported, others = 0, Counter[str]()
    while True:
        before = reported
        report = _tell(
            variant,
            (seed + before, histories - before, steps),
            lambda reported, before=before: progress(variant, before + reported),  # type: ignore[misc]  # mypy sees no default
        )
        reported += report.reported
        others.update(report.others)
        if report.what is None or report.error or reported >= histories:
            break
        if _tell(variant, (seed + reported - 1, 1, steps), lambda _: None, "whole").what is None:
            break
        others[f"{variant.guarantee} also of the whole product"] += 1
    return Verdict(variant=variant, reported=reported, what=report.what, others=others, error=report.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What a process of `tests.model.variants.telling` said last."""

    reported: int = 0
    what: str | None = None
    others: Mapping[str, int] = field(default_factory=dict)
    error: str = ""


def _tell(
    variant: Variant, numbers: tuple[int, int, int], progress: Callable[[int], None], *more: str
) -> _Report:
    command = (sys.executable, "-m", "tests.model.variants.telling", variant.name, *map(str, numbers), *more)
    last = _Report()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, cwd=PACKAGE.parent, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for report in process.stdout:
                last = _Report(**json.loads(report))
                progress(last.reported)
            process.wait()
        finally:
            process.kill()  # it has ended, unless we were interrupted
        errors.seek(0)
        said = errors.read().strip()
    return replace(last, error=said.splitlines()[-1]) if process.returncode and said else last


def catch_all(
    variants: tuple[Variant, ...],
    *,
    jobs: int,
    seed: int,
    histories: int,
    steps: int,
    progress: Progress = lambda *_: None,
) -> Iterator[Verdict]:
    """Yield the verdicts as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [
            pool.submit(catch, each, seed=seed, histories=histories, steps=steps, progress=progress)
            for each in variants
        ]
        for done in as_completed(waiting):
            yield done.result()
