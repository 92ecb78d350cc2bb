"""`python -m nncache.demo`: from nothing to a running system, its story, and its end."""

import asyncio
import http.client
import os
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import IO, Final

import aiohttp

from nncache.demo.chapters import CHAPTERS, FIRST_FILE, Chapter, SystemT, books
from nncache.demo.counter import BEAN
from nncache.demo.options import CONSEQUENCES, DemoError, OptionError, Options
from nncache.demo.steps import Step, exit_code
from nncache.demo.system import FILTER, NAMESERVICE, OWNER, System, running, typed
from nncache.demo.terminal import Terminal
from nncache.hadoop.errors import HadoopError
from nncache.testbed import TestbedError
from nncache.testbed.asker import Asker
from nncache.testbed.ending import signals_end_it, wait_for_the_end

FAILED: Final = 1
"""Exit code as for a story that did not come true."""

BAD_OPTION: Final = 2
INTERRUPTED: Final = 130
"""Exit code when a signal came before the story had ended (as a shell has it for SIGINT)."""

_OUTSIDE: Final = (
    DemoError, HadoopError, TestbedError, aiohttp.ClientError, http.client.HTTPException, OSError,
)  # fmt: skip
"""What can go wrong outside the demo's own code; TimeoutError is an OSError."""


def main(environ: Mapping[str, str] = os.environ, stream: IO[str] | None = None) -> int:
    """Run the demo and return its exit code. Needs the main thread."""
    terminal = Terminal(stream or sys.stdout)
    try:
        with signals_end_it():
            options = Options.of(environ)
            return _run_secured(options, terminal) if options.is_secured else _run(options, terminal)
    except OptionError as error:
        print(error, file=sys.stderr)
        return BAD_OPTION
    except (DemoError, TestbedError) as error:
        print(f"The demo could not run: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        terminal.say("Interrupted; everything is stopped.")
        return INTERRUPTED


def _run(options: Options, terminal: Terminal) -> int:
    terminal.say("nncache: a short story on a real cluster\n", "bold")
    consequence = CONSEQUENCES.get(options.without, "")
    with running(options, terminal) as system:
        steps = asyncio.run(_tell(system, terminal))
        terminal.summary(steps, consequence)
        if exit_code(steps):
            if not consequence:
                for daemon in filter(None, (system.proxy, system.publisher)):
                    terminal.say(f"The log of the {type(daemon).__name__.lower()}:")
                    terminal.say(daemon.process.last_words(), "dim")
            return FAILED
        _keep_running(terminal, _hints(system))
    terminal.say("Everything is stopped.")
    return 0


def _run_secured(options: Options, terminal: Terminal) -> int:
    from nncache.demo.secured import hints, running_secured  # noqa: PLC0415 - the other story needs no library of it
    from nncache.demo.secured_chapters import SECURED_CHAPTERS  # noqa: PLC0415 - as above

    terminal.say("nncache: a short story on a real cluster with Kerberos\n", "bold")
    with running_secured(options, terminal) as system:
        steps = asyncio.run(_tell_chapters(system, SECURED_CHAPTERS, terminal))
        terminal.summary(steps, "", is_timed=False)
        if exit_code(steps):
            terminal.say("The log of the proxy:")
            terminal.say(system.proxy.process.last_words(), "dim")
            return FAILED
        _keep_running(terminal, hints(system))
    terminal.say("Everything is stopped.")
    return 0


def _keep_running(terminal: Terminal, lines: tuple[tuple[str, str], ...]) -> None:
    terminal.hints(lines)
    if terminal.is_terminal:
        terminal.say("It keeps running; Ctrl-C ends everything.")
        wait_for_the_end()
    else:
        terminal.say("On a terminal it would keep running until Ctrl-C.")


async def _tell(system: System, terminal: Terminal) -> tuple[Step, ...]:
    """Play all chapters, the last one on what the others cost, and return their steps."""
    return await _tell_chapters(system, (*CHAPTERS, books(await system.totals())), terminal)


async def _tell_chapters(
    system: SystemT, chapters: Sequence[Chapter[SystemT]], terminal: Terminal
) -> tuple[Step, ...]:
    """Play them and return their steps."""
    steps: list[Step] = []
    for number, chapter in enumerate(chapters, 1):
        with terminal.chapter(number, chapter.title, chapter.plot):
            played = await _play(system, chapter)
        for step in played:
            terminal.step(step)
        steps += played
    return tuple(steps)


async def _play(system: SystemT, chapter: Chapter[SystemT]) -> tuple[Step, ...]:
    """Return the chapter's steps; one that breaks off is a step that did not come true."""
    try:
        return await chapter.play(system)
    except _OUTSIDE as error:
        seen = str(error) if isinstance(error, DemoError) else f"{type(error).__name__}: {error}"
        return (Step(title=chapter.title, expected="it is played to its end", seen=seen, came_true=False),)


def _hints(system: System) -> tuple[tuple[str, str], ...]:
    """Return what to try on the running system: purpose, and a line to copy."""
    target, namenode, admin = f"/webhdfs/v1{FIRST_FILE}", system.namenode_http, system.proxy.admin
    with Asker(namenode) as asker:  # Hadoop 3.5.0's jars come without the web UI
        has_ui = asker.ask("GET", "/dfshealth.html").status == HTTPStatus.OK
    watch = ("watch", FILTER, "--nameservice", NAMESERVICE, "--zookeeper", system.zookeeper.address)
    publisher = (
        () if system.publisher is None else (("The publisher's:", f"http://{system.publisher.admin}/"),)
    )
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
        ("Follow the filter's events (Ctrl-C ends it):", typed(*watch)),
        ("The filters that there are:", typed("filters", "list", "--namenode-http", namenode)),
        (
            "What has registered, and the state of each:",
            typed("proxies", "--zookeeper", system.zookeeper.address),
        ),
        ("The proxy's own pages, for a browser:", f"http://{admin}/"),
        *publisher,
        ("The NameNode's web UI:", f"http://{namenode}/dfshealth.html")
        if has_ui
        else ("The NameNode's counters:", f"http://{namenode}/jmx?qry={BEAN}"),
    )
