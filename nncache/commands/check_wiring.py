"""Run the probes of `nncache check` and show that they run."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvloop
from rich.console import Console

from nncache.checks.facts import Facts
from nncache.checks.gathering import gather
from nncache.checks.subject import Subject
from nncache.clock import boottime


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
