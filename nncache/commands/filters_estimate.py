"""`nncache filters estimate`: count what a filter would match in the NameNode's recent edits."""

import json
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final

import click

from nncache.commands.filters_store import TIMEOUT_S, bar, filter_settings, on_hdfs
from nncache.commands.options import GlobCommand, with_json, with_settings
from nncache.errors import ConfigurationError
from nncache.hadoop.errors import RemoteCallError, RemoteExceptionError
from nncache.hadoop.glob_syntax import pitfall
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.admission import too_general
from nncache.invalidation.filters.definition import check_glob
from nncache.invalidation.filters.hdfs_calls import answered
from nncache.invalidation.publisher.estimate import Estimate, Estimator
from nncache.logs import one_line
from nncache.settings.commands import FILTERS

WHO_MAY: Final = "only a superuser of HDFS may read the edits, as the publisher does"


@with_settings(FILTERS.keys.values())
@click.command(cls=GlobCommand)
@click.option("--glob", required=True, help="Paths to match, in the syntax of hdfs dfs -ls.")
@click.option(
    "--transactions",
    type=click.IntRange(1, 10_000_000),
    default=100_000,
    show_default=True,
    help="Number of the latest transactions of the edit log to read.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="Maximum seconds to read.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0),
    default=1000.0,
    show_default=True,
    help="The publisher's max_events_per_s_per_filter.",
)
@with_json
def estimate(
    glob: str,
    *,
    transactions: int,
    max_seconds: float,
    limit: float,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Estimate how many events a glob would match.

    Reads the NameNode's latest edits, as a publisher does, and changes nothing. Only superusers of HDFS may do this.
    """
    settings = filter_settings(config, flags)
    try:
        check_glob(glob)
    except FilterError as error:
        raise ConfigurationError(one_line(str(error))) from error
    estimator = Estimator(glob, limit)

    async def read(hdfs: WebHdfs, identity: KerberosIdentity | None) -> bool:
        with answered("the edits cannot be read", who_may=WHO_MAY):
            address, check = await hdfs.rpc_side()
            namenode = NameNodeRpc(
                address, settings.namenodes.user, timeout_s=TIMEOUT_S, check=check, identity=identity
            )
            try:
                return await _read(namenode, estimator, transactions, max_seconds)
            except RemoteCallError as exc:
                raise RemoteExceptionError(HTTPStatus.FORBIDDEN, exc.remote, call="getEditsFromTxid") from exc
            finally:
                await namenode.close()

    is_whole = on_hdfs(settings, read)
    found, refused = estimator.estimate(), too_general(glob, settings.filters)
    if as_json:
        click.echo(json.dumps(estimate_as_json(glob, found, limit, refused, is_whole=is_whole), indent=2))
        return
    for line in lines(glob, found, limit, refused):
        click.echo(one_line(line))
    if not is_whole:
        click.echo(f"read for {max_seconds:g} s, and not to the end: --max-seconds", err=True)
    if trouble := pitfall(glob):
        click.echo(one_line(trouble), err=True)


async def _read(namenode: NameNodeRpc, estimator: Estimator, transactions: int, max_s: float) -> bool:
    """Read the edits up to their current end. Return whether the end was reached."""
    end = await namenode.get_current_edit_log_txid()
    first = next_txid = max(1, end - transactions + 1)
    until = time.monotonic() + max_s
    with bar("reading edits") as progress:
        while next_txid <= end and time.monotonic() < until:
            page = await namenode.get_edits(next_txid)
            if page.first_txid < 0:
                break
            next_txid = estimator.take(page) + 1
            progress(min(next_txid, end + 1) - first, end + 1 - first)
    return next_txid > end or time.monotonic() < until


def lines(glob: str, found: Estimate, limit_per_s: float, refused: str) -> Iterator[str]:
    """Yield an estimate as lines for people."""
    yield glob
    if not found.transactions:
        yield "  the NameNode has no edits to look at"
        return
    during = "" if found.seconds is None else f", of {found.seconds:.0f} s"
    yield f"  edits      {found.transactions} transactions ({found.first_txid} to {found.last_txid}){during}"
    rate = "" if found.per_s is None else f", {found.per_s:.3g} a second"
    yield f"  events     {found.matched} of {found.events}{rate}; in the busiest minute {found.busiest_minute}"
    yield f"  share      {found.share:.2%} of the transactions"
    for path in found.examples:
        yield f"  such as    {path}"
    if refused:
        yield f"  limits     refused: {refused}"
    elif not limit_per_s:
        yield "  limits     any number of events"
    elif found.over_limit:
        yield f"  limits     {found.over_limit} of these events would be left out: {limit_per_s:g} a second are allowed"
    else:
        yield f"  limits     within {limit_per_s:g} events a second"


def estimate_as_json(
    glob: str, found: Estimate, limit_per_s: float, refused: str, *, is_whole: bool
) -> dict[str, object]:
    """Return an estimate as a JSON object, with null for unknown values."""
    return {
        "pathGlob": glob,
        "firstTxid": found.first_txid,
        "lastTxid": found.last_txid,
        "isWhole": is_whole,
        "transactions": found.transactions,
        "seconds": found.seconds,
        "events": found.events,
        "matched": found.matched,
        "matchedPerSecond": found.per_s,
        "matchedInBusiestMinute": found.busiest_minute,
        "shareOfTransactions": found.share,
        "examples": list(found.examples),
        "limitPerSecond": limit_per_s,
        "overLimit": found.over_limit,
        "refused": refused or None,
    }
