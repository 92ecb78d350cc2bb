"""`nncache fleet`: status, top, explain and purge of all registered proxies.

Exit code 0: all proxies carried out the request; 1: some did not, and are named; 2: no proxy was asked.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.live import Live

from nncache.commands import explain as of_explain
from nncache.commands import purge as of_purge
from nncache.commands.fleet_client import (
    Fleet,
    FleetMember,
    MemberAnswer,
    ask_once,
    registered_proxies,
    require_all,
    shown,
)
from nncache.commands.fleet_view import answers_as_json, screen, seen, status_row
from nncache.commands.options import given, with_json, with_settings
from nncache.commands.proxies import aligned
from nncache.commands.top import EVERY_S, ROWS
from nncache.coordination.task_group import run_all
from nncache.logs import one_line
from nncache.settings.commands import FLEET, SettingsOfFleet, load_settings

WITHIN_S: Final = 5.0

_with_settings = with_settings(FLEET.keys.values())
_with_timeout = click.option(
    "--timeout",
    "within_s",
    type=click.FloatRange(0.1, 600.0),
    default=WITHIN_S,
    show_default=True,
    metavar="SECONDS",
    help="Timeout for the answer of each proxy; all are asked at once.",
)


@click.group()
def fleet() -> None:
    """Ask all proxies in the service registry at the same time.

    Proxies that do not answer are named on standard error. Exit code 0: all proxies have answered, and for status all
    are ready; 1: some have not; 2: no proxy was asked.
    """


@_with_settings
@fleet.command()
@with_json
@_with_timeout
def status(*, as_json: bool, within_s: float, config: Path | None, **flags: object) -> None:
    """Print a line for each proxy.

    A line has the name, whether the proxy is ready, the state of its gate, requests a second and the share from memory
    in the last minute, and the version.
    """
    found = shown(ask_once(_settings(config, flags), within_s, "/status"), status_row)
    if as_json:
        _print_json(found)
    else:
        for line in aligned([(each.name, *row) for each, row in found if row is not None]):
            click.echo(line)
    require_all([_ready(each) for each, _ in found], "ready:")


@_with_settings
@fleet.command()
@click.option(
    "--once", is_flag=True, help="Print one table and exit; the default if the output is not a terminal."
)
@click.option(
    "-n",
    "rows",
    type=click.IntRange(1, 20),
    default=ROWS,
    show_default=True,
    help="Number of rows of each kind.",
)
@with_json
@_with_timeout
def top(
    *, rows: int, once: bool, as_json: bool, within_s: float, config: Path | None, **flags: object
) -> None:
    """Show the load of all proxies: a line for each, and their hottest paths, callers and addresses together.

    Each proxy reports its 20 hottest names. A name that is not among them at some proxy is undercounted.
    """
    settings, console = _settings(config, flags), Console()
    if not (as_json or once) and console.is_terminal:
        client, members = Fleet(settings, within_s), registered_proxies(settings)
        with suppress(KeyboardInterrupt):
            asyncio.run(follow(client, members, rows, console))
        return
    found = shown(ask_once(settings, within_s, "/status"), seen)
    if as_json:
        _print_json(found)
    else:
        console.print(screen(found, rows))
    require_all([each for each, _ in found], "answered:")


@_with_settings
@fleet.command()
@click.argument("path")
@with_json
@_with_timeout
def explain(path: str, *, as_json: bool, within_s: float, config: Path | None, **flags: object) -> None:
    """Show what each proxy knows of PATH, and why it is or is not answered from memory there."""
    answers = ask_once(_settings(config, flags), within_s, of_explain.target_of(path))
    _print_each(
        shown(answers, lambda document: [*of_explain.readable(document)]), "answered:", as_json=as_json
    )


@_with_settings
@fleet.command()
@of_purge.with_what
@with_json
@_with_timeout
def purge(
    path: str | None,
    filter_: str | None,
    *,
    subtree: bool,
    as_json: bool,
    within_s: float,
    config: Path | None,
    **flags: object,
) -> None:
    """Make all proxies forget PATH, so that the next read asks the NameNode. Safe for all callers.

    A proxy that does not answer in time may or may not have forgotten PATH. The command can be repeated.
    """
    target = of_purge.target_of(path, filter_, subtree=subtree)
    answers = ask_once(_settings(config, flags), within_s, target, "POST")
    _print_each(shown(answers, lambda document: [*of_purge.readable(document)]), "purged:", as_json=as_json)


def _settings(config: Path | None, flags: dict[str, object]) -> SettingsOfFleet:
    return load_settings(FLEET, config, given(flags))


def _print_each(
    found: Sequence[tuple[MemberAnswer, Sequence[str] | None]], done: str, *, as_json: bool
) -> None:
    if as_json:
        _print_json(found)
    else:
        for each, lines in found:
            for line in lines or ():
                click.echo(one_line(f"{each.name}: {line}"))
    require_all([each for each, _ in found], done)


def _print_json(found: Iterable[tuple[MemberAnswer, object]]) -> None:
    click.echo(answers_as_json([each for each, _ in found]))


def _ready(answer: MemberAnswer) -> MemberAnswer:
    """Return the answer, or a failure if the proxy is not ready."""
    if answer.document is None or answer.document["is_ready"]:
        return answer
    return MemberAnswer(answer.name, None, f"not ready: {answer.document['reason']}")


async def follow(fleet: Fleet, members: Sequence[FleetMember], rows: int, console: Console) -> None:
    """Show all proxies, refreshed each second, until cancelled. Each has its own task: a slow one delays no other."""
    latest = {member.name: MemberAnswer(member.name, None, "not asked yet") for member in members}

    async def keep_asking(member: FleetMember) -> None:
        while True:
            latest[member.name] = await fleet.ask(member, "/status")
            await asyncio.sleep(EVERY_S)

    async def keep_showing() -> None:
        while True:
            live.update(screen(shown([*latest.values()], seen), rows), refresh=True)
            await asyncio.sleep(EVERY_S)

    with Live(console=console, screen=True, auto_refresh=False) as live:
        async with fleet:
            await run_all(keep_showing, *(partial(keep_asking, member) for member in members))
