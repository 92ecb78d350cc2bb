"""`python -m nncache.demo`: start a system, play its story, and stop it."""

import http.client
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import IO, Final

import aiohttp

from nncache.demo.clients import DemoError
from nncache.demo.light import running as running_light
from nncache.demo.story import running
from nncache.demo.terminal import Step, Story, Terminal
from nncache.hadoop.errors import HadoopError
from nncache.testbed import TestbedError
from nncache.testbed.ending import signals_end_it, wait_for_the_end
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, SUPPORTED_HADOOP_VERSIONS

FAILED: Final = 1  # exit code if a step fails, or the demo cannot run

BAD_OPTION: Final = 2
INTERRUPTED: Final = 130
"""Exit code if a signal arrives before the end of the story (a shell's code for SIGINT)."""

CONSEQUENCES: Final = {
    "": "",
    "invalidation": (
        "The proxy receives no change (DEMO_WITHOUT=invalidation): its channel claims to have read every change and "
        "delivers none, so what is in memory is never forgotten, and old answers stay."
    ),
    "publisher": (
        "There was no publisher (DEMO_WITHOUT=publisher): the NameNode's edits are not read, so the proxy can never "
        "show that what it remembers is still true. It forwards every call; each step that needs answers from memory "
        "fails, and no answer was wrong."
    ),
}
"""For each value of DEMO_WITHOUT, why the story fails without that part of the system."""

_START: Final = (DemoError, TestbedError, subprocess.SubprocessError)
_OUTSIDE: Final = (*_START, HadoopError, aiohttp.ClientError, http.client.HTTPException, OSError)
"""The errors from outside the demo's own code; TimeoutError is an OSError."""


def main(environ: Mapping[str, str] = os.environ, stream: IO[str] | None = None) -> int:
    """Run the demo and return its exit code.

    HADOOP is the release. DEMO_WITHOUT names a part to leave out, to show that the checks can fail. SECURE=1 plays the
    story with Kerberos, LIGHT=1 a short one without Java.
    """
    version = environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
    without, secure, light = (environ.get(key, "") for key in ("DEMO_WITHOUT", "SECURE", "LIGHT"))
    for key, value, allowed in (
        ("HADOOP", version, SUPPORTED_HADOOP_VERSIONS),
        ("DEMO_WITHOUT", without, ("",) if secure or light else tuple(CONSEQUENCES)),
        ("SECURE", secure, ("",) if light else ("", "1")),
        ("LIGHT", light, ("", "1")),
    ):
        if value not in allowed:
            names = ", ".join(filter(None, allowed))
            words = f"one of {names}, or empty" if names else f"empty with {'LIGHT' if light else 'SECURE'}"
            print(f"{key}={value}: must be {words}", file=sys.stderr)
            return BAD_OPTION
    stream = stream or sys.stdout
    terminal = Terminal(stream)
    try:
        with _running(version, without, secure, light, terminal) as story:
            code = _play(story, CONSEQUENCES[without], terminal)
            if code == 0 and stream.isatty():
                terminal.say("It keeps running; Ctrl-C ends everything.")
                wait_for_the_end()
            elif code == 0:
                terminal.say("On a terminal it would keep running until Ctrl-C.")
    except _START as error:
        print(f"The demo could not run: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        terminal.say("Interrupted; everything is stopped.")
        return INTERRUPTED
    terminal.say("Everything is stopped.")
    return code


def _running(
    version: str, without: str, secure: str, light: str, terminal: Terminal
) -> AbstractContextManager[Story]:
    if light:
        return running_light(terminal)
    if not secure:
        return running(version, without, terminal)
    from nncache.demo import secured  # noqa: PLC0415 - the other story starts without its libraries

    return secured.running(version, terminal)


def _play(story: Story, consequence: str, terminal: Terminal) -> int:
    """Play all chapters, print the results, and return the exit code.

    A chapter that ends with an error counts as a failed step.
    """
    steps: list[Step] = []
    for number, chapter in enumerate(story.chapters, 1):
        terminal.chapter(number, chapter)
        try:
            played = chapter.play()
        except _OUTSIDE as error:
            seen = str(error) if isinstance(error, DemoError) else f"{type(error).__name__}: {error}"
            played = (Step(chapter.title, "it is played to its end", seen, came_true=False),)
        for step in played:
            terminal.step(step)
        steps += played
    if untrue := [step.title for step in steps if not step.came_true]:
        line = f"{len(untrue)} of {len(steps)} steps did not come true: {'; '.join(untrue)}."
        terminal.say(f"\n{line}", "bold red")
        terminal.say(consequence or f"The log of the proxy: {story.proxy.process.last_words()}")
        return FAILED
    terminal.say(f"\nAll {len(steps)} steps came true.", "green")
    terminal.say("\nTry it yourself", "bold")
    for purpose, line in story.hints:
        terminal.say(f"   {purpose}", "dim")
        terminal.say(f"   {line}")
    terminal.say("")
    return 0


if __name__ == "__main__":
    # A second signal after the stop must not change the exit code.
    with signals_end_it(then_ignored=True):
        code = main()
    sys.exit(code)
