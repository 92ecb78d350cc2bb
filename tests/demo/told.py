"""The story as an ordinary run tells it: another process, no terminal."""

import os
import subprocess
import sys
from dataclasses import dataclass

from tests.house.tree import ROOT

TIMEOUT_S = 500.0  # of a run that takes half a minute where nothing else runs


@dataclass(frozen=True, slots=True)
class Told:
    """What a run left behind."""

    code: int
    out: str
    err: str

    def came_true(self, title: str) -> bool:
        """Whether the step of this title is ticked.

        Raises:
            LookupError: there is no such step, or more than one.
        """
        lines = [line for line in self.out.splitlines() if f" {title}: " in line]
        if len(lines) != 1:
            raise LookupError(f"{len(lines)} steps are called {title}")
        return lines[0].lstrip().startswith("✓")


def tell(**options: str) -> Told:
    """Run `python -m nncache.demo` to its end, with these environment variables over those of `make test`."""
    done = subprocess.run(
        [sys.executable, "-m", "nncache.demo"],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "DEMO_WITHOUT": "", "SECURE": ""} | options,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    return Told(done.returncode, done.stdout, done.stderr)
