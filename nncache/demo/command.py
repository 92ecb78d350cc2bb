"""`python -m nncache.demo`: from nothing to a running system, its story, and its end."""

import asyncio
import http.client
import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Final

import aiohttp

from nncache.demo.polling import DemoError
from nncache.demo.story import CHAPTERS, FIRST_FILE, Chapter, SystemT, books
from nncache.demo.system import BEAN, FILTER, NAMESERVICE, OWNER, System, running, typed
from nncache.demo.terminal import Step, Terminal
from nncache.hadoop.errors import HadoopError
from nncache.testbed import TestbedError
from nncache.testbed.daemon import Proxy
from nncache.testbed.ending import wait_for_the_end
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, SUPPORTED_HADOOP_VERSIONS

FAILED: Final = 1
"""Exit code as for a story that did not come true."""

BAD_OPTION: Final = 2
INTERRUPTED: Final = 130
"""Exit code when a signal came before the story had ended (as a shell has it for SIGINT)."""

CONSEQUENCES: Final = {
    "": "",
    "invalidation": (
        "The proxy hears of no change (DEMO_WITHOUT=invalidation): its channel claims to have read every change and "
        "delivers none, so what is in memory is never forgotten, and old answers stay."
    ),
    "publisher": (
        "There was no publisher (DEMO_WITHOUT=publisher): the NameNode's edits are not read, so the proxy can never "
        "show that what it remembers is still true. It forwards every call; each step that needs answers from memory "
        "fails, and no answer was wrong."
    ),
}
"""Why the story fails without a part of the system, by DEMO_WITHOUT."""

_OUTSIDE: Final = (
    DemoError, HadoopError, TestbedError, aiohttp.ClientError, http.client.HTTPException, OSError,
)  # fmt: skip
"""What can go wrong outside the demo's own code; TimeoutError is an OSError."""


def main(environ: Mapping[str, str] = os.environ, stream: IO[str] | None = None) -> int:
    """Run the demo and return its exit code.

    HADOOP is the release, DEMO_WITHOUT what is left out to show that the checks can fail, SECURE=1 another story.
    """
    version = environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
    without, secure = environ.get("DEMO_WITHOUT", ""), environ.get("SECURE", "")
    for key, value, allowed in (
        ("HADOOP", version, SUPPORTED_HADOOP_VERSIONS),
        ("DEMO_WITHOUT", without, ("",) if secure else tuple(CONSEQUENCES)),
        ("SECURE", secure, ("", "1")),
    ):
        if value not in allowed:
            words = (
                f"one of {', '.join(filter(None, allowed))}, or empty"
                if any(allowed)
                else "empty with SECURE"
            )
            print(f"{key}={value}: must be {words}", file=sys.stderr)
            return BAD_OPTION
    terminal = Terminal(stream or sys.stdout)
    try:
        if secure:
            from nncache.demo import secured  # noqa: PLC0415 - the other story needs no library of it

            with secured.running_secured(version, terminal) as other:
                steps = asyncio.run(_tell(other, secured.CHAPTERS, terminal))
                code = _end(terminal, steps, other.proxy, secured.hints(other))
        else:
            with running(version, without, terminal) as system:
                steps = asyncio.run(_tell_all(system, terminal))
                code = _end(terminal, steps, system.proxy, _hints(system), CONSEQUENCES[without])
    except (DemoError, TestbedError) as error:
        print(f"The demo could not run: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        terminal.say("Interrupted; everything is stopped.")
        return INTERRUPTED
    terminal.say("Everything is stopped.")
    return code


def _end(
    terminal: Terminal,
    steps: Sequence[Step],
    proxy: Proxy,
    hints: Sequence[tuple[str, str]],
    consequence: str = "",
) -> int:
    """Say what became of the story; if it came true, keep everything running on a terminal. Return the exit code."""
    terminal.verdict(steps)
    if not all(step.came_true for step in steps):
        terminal.say(consequence or f"The log of the proxy: {proxy.process.last_words()}")
        return FAILED
    terminal.hints(hints)
    if terminal.is_terminal:
        terminal.say("It keeps running; Ctrl-C ends everything.")
        wait_for_the_end()
    else:
        terminal.say("On a terminal it would keep running until Ctrl-C.")
    return 0


async def _tell_all(system: System, terminal: Terminal) -> list[Step]:
    """Play all chapters, the last one on what the others cost, and return their steps."""
    return await _tell(system, (*CHAPTERS, books(await system.totals())), terminal)


async def _tell(system: SystemT, chapters: Sequence[Chapter[SystemT]], terminal: Terminal) -> list[Step]:
    """Play them and return their steps; a chapter that breaks off is a step that did not come true."""
    steps: list[Step] = []
    for number, chapter in enumerate(chapters, 1):
        terminal.chapter(f"{number}. {chapter.title}", chapter.plot)
        try:
            played = await chapter.play(system)
        except _OUTSIDE as error:
            seen = str(error) if isinstance(error, DemoError) else f"{type(error).__name__}: {error}"
            played = (Step(chapter.title, "it is played to its end", seen, came_true=False),)
        for step in played:
            terminal.step(step)
        steps += played
    return steps


def _hints(system: System) -> tuple[tuple[str, str], ...]:
    """Return what to try on the running system: purpose, and a line to copy."""
    namenode, zookeeper, admin = (
        system.cluster.namenodes[0].http,
        system.zookeeper.address,
        system.proxy.admin,
    )
    target = f"/webhdfs/v1{FIRST_FILE}"
    return (
        (
            "Read through nncache; ask twice and look at Cache-Status:",
            f"curl -i 'http://{system.proxy.address}{target}?op=GETFILESTATUS&user.name=bob'",
        ),
        (
            "Delete it behind nncache's back, then read again:",
            f"curl -X DELETE 'http://{namenode}{target}?op=DELETE&user.name={OWNER}'",
        ),
        ("What the proxy knows of it, and why:", typed("explain", FIRST_FILE, "--admin", admin)),
        (
            "Follow the filter's events (Ctrl-C ends it):",
            typed("watch", FILTER, "--nameservice", NAMESERVICE, "--zookeeper", zookeeper),
        ),
        ("The filters that there are:", typed("filters", "list", "--namenode-http", namenode)),
        ("What has registered, and the state of each:", typed("proxies", "--zookeeper", zookeeper)),
        ("The proxy's own pages, for a browser:", f"http://{admin}/"),
        ("The NameNode's counters:", f"http://{namenode}/jmx?qry={BEAN}"),
    )
