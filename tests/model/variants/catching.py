"""See that broken variants are caught, several at a time. (tests/model/variants/catching.py)"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from tests.model.variants.variant import ROOT, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one variant.

    Attributes:
        told: how many histories were told.
        what: the violation of its own guarantee; None: not caught.
        others: in how many of these histories something else was found, by guarantee.
        error: why its process ended badly; "" if it did not.
    """

    variant: Variant
    told: int
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
    """Tell histories of one variant until it is caught."""
    command = (sys.executable, "-m", "tests.model.variants.telling", variant.name)
    last: dict[str, object] = {"told": 0, "what": None, "others": {}}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            (*command, str(seed), str(histories), str(steps)),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for report in process.stdout:
                last = json.loads(report)
                progress(variant, int(str(last["told"])))
            process.wait()
        finally:
            process.kill()  # it has ended, unless we were interrupted
        errors.seek(0)
        said = errors.read().strip()
    has_failed = process.returncode > 0
    return Verdict(variant=variant, **last, error=said.splitlines()[-1] if has_failed and said else "")  # type: ignore[arg-type]  # as `telling` writes it


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
