"""`nncache watch FILTER`: follow the events of a filter."""

from pathlib import Path

import click

from nncache.commands.options import given, with_settings
from nncache.settings.commands import WATCH, load_settings


@with_settings(WATCH.keys.values())
@click.command(short_help="Print what happens to the paths of FILTER.")
@click.argument("filter_name", metavar="FILTER")
@click.option(
    "--from",
    "from_txid",
    metavar="TXID",
    type=click.IntRange(min=0),
    help="Begin behind this transaction.  [default: behind the last one published]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.option("--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it.")
def watch(
    filter_name: str, from_txid: int | None, *, as_json: bool, config: Path | None, **flags: object
) -> None:
    """Print what happens to the paths that FILTER matches, from now on, until Ctrl-C (which is no failure).

    One line for each event, in order, as it is published in ZooKeeper; no NameNode is asked. Lines that begin with
    `--` (after the time) say where it begins, which events are missing, and what is away. After a gap or an outage it
    goes on by itself. After an interruption go on with --from and the last transaction seen.
    """
    settings = load_settings(WATCH, config, given(flags))
    from nncache.commands.event_lines import JsonLines, TextLines  # noqa: PLC0415 - a wrong setting loads no client
    from nncache.commands.watch_wiring import run_watch  # noqa: PLC0415 - as above

    run_watch(settings, filter_name, from_txid, (JsonLines if as_json else TextLines)(filter_name))
