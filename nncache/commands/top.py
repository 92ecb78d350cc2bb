"""`nncache top`: the current load of a running proxy, in a terminal."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nncache.commands.admin_client import AdminPort, admin_port
from nncache.commands.options import with_settings
from nncache.errors import AdminError
from nncache.logs import one_line
from nncache.settings.commands import TOP

EVERY_S: Final = 1.0
ROWS: Final = 10


@with_settings(TOP.keys.values())
@click.command()
@click.option(
    "--once", is_flag=True, help="Print one table and exit; the default if the output is not a terminal."
)
@click.option("--json", "as_json", is_flag=True, help="Print /status unchanged, once.")
@click.option(
    "-n",
    "rows",
    type=click.IntRange(1, 20),
    default=ROWS,
    show_default=True,
    help="Number of rows of each kind.",
)
def top(*, rows: int, once: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Show the load of a running proxy: hottest paths, callers, addresses, and why the NameNode was asked."""
    port, console = admin_port(TOP, config, flags), Console()
    if as_json:
        click.echo(json.dumps(port.ask("/status"), indent=2))
    elif once or not console.is_terminal:
        console.print(screen(port.status_of_proxy(), rows))
    else:
        follow(port, rows, console, time.sleep)


def follow(port: AdminPort, rows: int, console: Console, pause: Callable[[float], None]) -> None:
    """Show the status, refreshed each second, until Ctrl-C.

    Raises:
        AdminError: the first request failed. The screen shows later failures.
    """
    shown = screen(port.status_of_proxy(), rows)
    try:
        with Live(shown, console=console, screen=True, auto_refresh=False) as live:
            while True:
                pause(EVERY_S)
                try:
                    shown = live_screen = screen(port.status_of_proxy(), rows)
                except AdminError as error:
                    live_screen = Group(Text(one_line(str(error)), style="bold red"), shown)
                live.update(live_screen, refresh=True)
    except KeyboardInterrupt:
        return


def screen(status: Mapping[str, Any], rows: int) -> Group:
    """Return the screen for a status document, which docs/status.md describes."""
    hottest = status["hottest"]
    return Group(
        *_head(status),
        hottest_table("path", hottest["paths"][:rows]),
        hottest_table("caller", hottest["callers"][:rows]),
        hottest_table("address", hottest["addresses"][:rows]),
        misses_table(status["misses"][:rows]),
    )


def _head(status: Mapping[str, Any]) -> Iterator[RenderableType]:
    minute, since_start, gate = status["saved"]["last_minute"], status["saved"]["since_start"], status["gate"]
    yield text(f"nncache {status['version']} on {status['host']}, up {_lasted(status['uptime_s'])}", "bold")
    age = "" if gate["age_s"] is None else f"; all changes applied as of {gate['age_s']:.3f} s ago"
    yield text(f"gate {gate['state']}{age}", "green" if gate["is_open"] else "bold red")
    yield text(
        f"{minute['requests_per_s']:,.1f} requests/s, {percent(minute['ratio'])} from memory in the last "
        f"{minute['seconds']:.0f} s; since start {since_start['requests']:,} and {percent(since_start['ratio'])}, "
        f"{_saved(since_start['calls_saved'])}"
    )
    yield from _edits(status)
    loop = status["loop"]
    yield text(
        f"failed {since_start['failed']:,}, refused {since_start['refused']:,}; "
        f"event loop late by {loop['lag_s'] * 1000:.1f} ms, at most {loop['lag_max_s'] * 1000:.0f} ms"
    )


def _edits(status: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield a line for each namespace whose edits are not read from the best source or from all JournalNodes."""
    for each in (status, *status.get("namespaces", ())):
        edits = each.get("edits") or {"passed_over": (), "journalnodes": ()}
        reasons = [f"not from {one['source']}: {one['why']}" for one in edits["passed_over"]]
        reasons += [
            f"JournalNode {one['address']} does not count: {one['why_not'] or 'it has not answered yet'}"
            for one in edits["journalnodes"]
            if not one["is_counted"]
        ]
        if reasons:
            name = f" of {each['name']}" if "name" in each else ""
            yield text(f"edits{name} are read from {edits['source']}; {'; '.join(reasons)}", "bold yellow")


def _saved(calls: int) -> str:
    """Return the NameNode calls that the proxy saves or adds: with few requests, reading the edits costs more."""
    return (
        f"{-calls:,} NameNode calls more than without it" if calls < 0 else f"{calls:,} NameNode calls saved"
    )


def hottest_table(kind: str, hot: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table of the hottest names of one kind."""
    table = columns("requests/s", kind)
    for each in hot:
        table.add_row(text(f"{each['per_s']:,.1f}"), text(each["name"]))
    return table


def misses_table(misses: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table of forward reasons."""
    table = columns("requests/s", "asked the NameNode because", "since start")
    for each in misses:
        words = f"{each['reason']}: {each['meaning']}"
        table.add_row(text(f"{each['per_s']:,.1f}"), text(words), text(f"{each['requests']:,}"))
    return table


_FIGURES: Final = frozenset({"requests/s", "since start", "from memory", "failed", "lag"})
"""Headings of columns with figures. The other columns get the remaining width."""


def columns(*headings: str) -> Table:
    """Return a table without rows."""
    table = Table(box=None, pad_edge=False, expand=True, header_style="bold")
    for heading in headings:
        is_name = heading not in _FIGURES
        table.add_column(
            heading, ratio=1 if is_name else None, justify="left" if is_name else "right", overflow="fold"
        )
    return table


def text(words: str, style: str = "") -> Text:
    """Return text without markup and with control characters escaped: names come from clients."""
    return Text(one_line(words), style=style)


def percent(ratio: float | None) -> str:
    """Return a ratio for people; None means that there were no requests."""
    return "no requests" if ratio is None else f"{100 * ratio:.1f} %"


def _lasted(seconds: float) -> str:
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{int(seconds)} s"
