"""`nncache check proxy` and `nncache check publisher`: try the settings of a daemon."""

import asyncio
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import uvloop
from rich.console import Console

from nncache.checks.facts import CheckFacts
from nncache.checks.finding import CheckVerdict, failed, ok, warning
from nncache.checks.gathering import gather
from nncache.checks.subject import CheckSubject
from nncache.checks.table import SETTINGS, CheckResult, exit_code, judged
from nncache.clock import boottime
from nncache.commands.options import given, with_json, with_settings
from nncache.errors import ConfigurationError
from nncache.hadoop.paths import ROOT
from nncache.logs import one_line
from nncache.settings.clear_secrets import unread
from nncache.settings.commands import KEYS, PROXY, PUBLISHER
from nncache.settings.federation import fill_proxy
from nncache.settings.forms import FilledForm, Form

_EPILOG = (
    "Exit codes: 0, nothing failed; 1, something failed (with --strict, or a warning); 2, an option, a key or a value "
    "is wrong, as at the start of the daemon."
)
_with_strict = click.option("--strict", is_flag=True, help="Treat warnings as failures.")


@click.group(epilog=_EPILOG)
def check() -> None:
    """Try the settings of a daemon, before its start or while it runs.

    Insert `check` into the command that starts the daemon: `nncache check proxy --config FILE`. The check writes
    nothing, and ends within about 10 seconds even if servers do not answer.
    """


@with_settings(PROXY.keys.values())
@check.command(epilog=_EPILOG)
@_with_strict
@with_json
def proxy(*, strict: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Try the settings of `nncache proxy`."""
    _run(PROXY, config, flags, strict=strict, as_json=as_json)


@with_settings(PUBLISHER.keys.values())
@check.command(epilog=_EPILOG)
@_with_strict
@with_json
def publisher(*, strict: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Try the settings of `nncache publisher`."""
    _run(PUBLISHER, config, flags, strict=strict, as_json=as_json)


def _run(
    form: Form[Any], config: Path | None, flags: dict[str, object], *, strict: bool, as_json: bool
) -> None:
    """Print the findings, and exit."""
    began = time.monotonic()
    try:
        filled, mounts = _filled(form, config, given(flags))
    except ConfigurationError as error:
        wrong = tuple(failed(line, "") for line in error.lines)
        results: tuple[CheckResult, ...] = (CheckResult(SETTINGS, wrong),)
        code = ConfigurationError.exit_code
    else:
        where = "no file" if config is None else str(config)
        ignored = unread(os.environ, {*KEYS, "config"})
        warnings = (warning(line, "unset it, and write it there") for line in ignored)
        results = (
            CheckResult(SETTINGS, (ok(f"{where} and {len(given(flags))} flags can be read"), *warnings)),
        )
        with _waiting() as tell:
            for name, each in filled.items():
                subject = CheckSubject(each.settings, each.places, mounts.get(name, ROOT))
                results += judged(_gathered(subject, tell), name)
        code = exit_code(results, strict=strict)
    if as_json:
        click.echo(report_as_json(results, code))
    else:
        for verdict, rest in lines(results):
            click.echo(click.style(f"{verdict.value:<8}", fg=_COLOURS[verdict]) + " " + rest)
        click.echo(summary(results, time.monotonic() - began))
    sys.exit(code)


def _filled(
    form: Form[Any], config: Path | None, flags: dict[str, object]
) -> tuple[Mapping[str, FilledForm[Any]], Mapping[str, str]]:
    """Return settings and first mount points by namespace. A single namespace has the name "" and no mount point.

    Raises:
        ConfigurationError: as at the start of the daemon.
    """
    if form is not PROXY:
        return {"": form.fill_in(config, flags, KEYS)}, {}
    filled, table = fill_proxy(config, flags)
    points = {} if table is None else table.points
    return filled, {name: point for point, name in reversed(tuple(points.items()))}


def _gathered(subject: CheckSubject, tell: Callable[[str], None]) -> CheckFacts:
    """Return the facts that the probes find."""
    log = logging.getLogger("nncache")
    level = log.level
    log.setLevel(logging.CRITICAL)  # the findings report the faults
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(gather(subject, boottime, tell))
    finally:
        log.setLevel(level)


@contextmanager
def _waiting() -> Iterator[Callable[[str], None]]:
    """Show the current step on a terminal. Yields a function that takes the step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("checking") as status:
        yield lambda text: status.update(f"checking {text}")


_COLOURS: Final[Mapping[CheckVerdict, str]] = {
    CheckVerdict.OK: "green",
    CheckVerdict.WARNING: "yellow",
    CheckVerdict.FAILED: "red",
    CheckVerdict.SKIPPED: "bright_black",
}


def lines(results: Iterable[CheckResult]) -> Iterator[tuple[CheckVerdict, str]]:
    """Yield the verdict of each line, and the rest of the line."""
    for result in results:
        namespace = f"[{result.namespace}] " if result.namespace else ""
        for finding in result.findings:
            to_do = f"; to do: {finding.remedy}" if finding.remedy else ""
            yield finding.verdict, f"{result.check:<15} {namespace}{one_line(finding.text + to_do)}"


def summary(results: Sequence[CheckResult], seconds: float) -> str:
    """Return the last line: the number of findings by verdict, and the duration."""
    counted = Counter(finding.verdict for result in results for finding in result.findings)
    return (
        ", ".join(f"{counted[verdict]} {verdict.value}" for verdict in CheckVerdict) + f" in {seconds:.1f} s"
    )


def report_as_json(results: Sequence[CheckResult], exit_code: int) -> str:
    """Return all findings as one JSON object."""
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
