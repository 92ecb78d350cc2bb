"""`nncache advise`: estimate savings and propose filters. (nncache/commands/advise.py)"""

import datetime as dt
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
from rich.console import Console

from nncache.errors import ConfigurationError, StartError
from nncache.invalidation.filters.settings import FilterSettings

_LIBRARIES: Final = frozenset({"jinja2", "markdown_it", "matplotlib", "pandas", "pyarrow", "pyspark"})
_MOST_UNKNOWN: Final = 0.01
_DEFAULTS: Final = FilterSettings()


def _zone(_: click.Context, __: click.Parameter, value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise click.BadParameter(f"{value}: is no time zone such as Europe/Berlin") from exc


@click.command()
@click.argument("inputs", nargs=-1)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("advice"),
    help="Directory of the report.",
    show_default=True,
)
@click.option(
    "--master",
    help="Spark master: yarn, k8s://…, spark://…, local[4].  [default: that of spark-submit, or local[*]]",
)
@click.option(
    "--events",
    help="Path to which the parsed events are written; executors must reach it.  [default: OUT/events.parquet]",
)
@click.option(
    "--time-zone",
    default="UTC",
    callback=_zone,
    help="Time zone of the NameNode; its log does not name one.",
    show_default=True,
)
@click.option("--since", type=click.DateTime(), help="Ignore earlier lines, in that time zone.")
@click.option("--until", type=click.DateTime(), help="Ignore later lines.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Share of the directories whose reads are replayed.",
    show_default=True,
)
@click.option(
    "--warm-up",
    type=click.FloatRange(min=0),
    default=300.0,
    help="Seconds at the start of the log that fill the cache and are not counted; at most a tenth of its time.",
    show_default=True,
)
@click.option(
    "--most", type=click.IntRange(min=1), default=1_000, help="Maximum number of filters.", show_default=True
)
@click.option(
    "--min-wildcard-level",
    type=click.IntRange(min=1),
    default=_DEFAULTS.min_wildcard_level,
    help="The publisher's min_wildcard_level.",
    show_default=True,
)
@click.option(
    "--pseudonymize",
    is_flag=True,
    help="Replace users and names of paths by digests, with a key that is not kept. Writes no filters.toml.",
)
@click.option(
    "--generate",
    type=click.IntRange(min=1_000),
    metavar="LINES",
    help="Generate a log with planted pollers, and compare the advice with what is known of it.",
)
def advise(  # noqa: PLR0913 - one for each option
    *,
    inputs: tuple[str, ...],
    out: Path,
    master: str | None,
    events: str | None,
    time_zone: ZoneInfo,
    since: dt.datetime | None,
    until: dt.datetime | None,
    sample: float,
    warm_up: float,
    most: int,
    min_wildcard_level: int,
    pseudonymize: bool,
    generate: int | None,
) -> None:
    """Read audit logs of a NameNode and report what nncache would save, and with which filters.

    INPUTS are files, directories and wildcards, plain or compressed, on any file system that Spark reads: audit logs of
    all NameNodes of one nameservice, nncache's access logs, or the events of an earlier run. Needs the extra `advisor`.

    The exit code is 1 if more than one line in a hundred could not be parsed.
    """
    if bool(inputs) is (generate is not None):
        raise click.UsageError("name logs, or let one be made (--generate)")
    try:
        from nncache.advisor import command  # noqa: PLC0415 - pyspark is an extra
    except ModuleNotFoundError as exc:
        library = (exc.name or "").partition(".")[0]
        if library not in _LIBRARIES:
            raise
        raise StartError(f"nncache advise needs {library}: pip install '.[advisor]' in the checkout") from exc
    order = command.AdviseOptions(
        inputs=inputs,
        out=out,
        master=master,
        events=events,
        zone=time_zone,
        since=_ms(since, time_zone),
        until=_ms(until, time_zone),
        sample=sample,
        warm_up_s=warm_up,
        most=most,
        limits=FilterSettings(min_wildcard_level=min_wildcard_level),
        key=secrets.token_bytes(32) if pseudonymize else None,
        generate=generate,
    )
    try:
        found = command.carry_out(order, _announcer())
    except command.AdvisorError as error:
        raise ConfigurationError(str(error)) from error
    for line in found.lines:
        click.echo(line)
    if found.unknown_share > _MOST_UNKNOWN:
        click.echo(
            f"{100 * found.unknown_share:.1f} % of the lines were not understood; the report shows some",
            err=True,
        )
        sys.exit(1)


def _ms(at: dt.datetime | None, zone: ZoneInfo) -> int | None:
    return None if at is None else round(at.replace(tzinfo=zone).timestamp() * 1000)


def _announcer() -> Callable[[str], None]:
    """Return a function that prints the name of a step, with the seconds since the start, to standard error."""
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()

    def announce(name: str) -> None:
        console.print(f"{time.monotonic() - began:7.1f} s  {name}", markup=False)

    return announce
