"""`make dashboards`: a real system under load, and where to look at it."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import click

from nncache.testbed import TestbedError
from nncache.testbed.ending import signals_end_it, wait_for_the_end
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tools.dashboards.files import BOARDS
from tools.dashboards.live.faults import FAULTS, Fault
from tools.dashboards.live.load import load
from tools.dashboards.live.panel_data import ANY, Stretch, as_json, shown
from tools.dashboards.live.stand import Needs, Stand, running

GRAPHS: Final = (
    "nncache:hit_ratio:rate5m",
    "nncache:calls_saved:rate5m",
    "sum by (result) (nncache:requests_by_result:rate5m)",
)
"""What the link to Prometheus's own graphs shows."""

INTERRUPTED: Final = 130

_RATE_INTERVAL: Final = "15s"
_STEP_S: Final = 2.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--duration",
    "duration_s",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds after which the load ends by itself.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what the panels show of that time to this file, for deploy/grafana/render, and end.",
)
@click.option(
    "--fault",
    "fault_name",
    type=click.Choice(sorted(FAULTS)),
    help="Cause this in the second third of that time: "
    + "; ".join(f"{name}: {each.meaning}" for name, each in FAULTS.items()),
)
def live(duration_s: float, save: Path | None, fault_name: str | None) -> None:
    """Start a cluster, ZooKeeper, a publisher, two proxies, load and Prometheus; Ctrl-C ends all."""
    version = os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
    try:
        fault = None if fault_name is None else FAULTS[fault_name]
        with signals_end_it(), running(version, _say, Needs() if fault is None else fault.needs) as stand:
            for line in where_to_look(stand):
                click.echo(line)
            _say(f"load for {duration_s:.0f} s; Ctrl-C ends everything")
            start = time.monotonic()
            sent, lasted = asyncio.run(_under_load(stand, duration_s, fault))
            _say(f"the load has ended: {sent} requests")
            if save is not None:
                found = panels(stand, time.monotonic() - start) | {"fault": lasted}
                save.write_text(json.dumps(found), encoding="utf-8")
            elif sys.stdout.isatty():
                _say("everything else keeps running until Ctrl-C")
                wait_for_the_end()
    except TestbedError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        _say("interrupted; everything is stopped")
        sys.exit(INTERRUPTED)
    _say("everything is stopped")


async def _under_load(
    stand: Stand, duration_s: float, fault: Fault | None
) -> tuple[int, dict[str, int] | None]:
    """Make load for so long, with a fault in the middle; return the requests sent, and when the fault was there."""
    addresses = [proxy.address for proxy in stand.proxies]
    namenode, superuser = stand.cluster.namenodes[0].http, stand.cluster.superuser
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(load(namenode, superuser, addresses, duration_s))
        causing = None
        if fault is not None and fault.begin is not None and fault.end is not None:
            say = f"now {fault.meaning}"
            causing = group.create_task(_cause(fault.begin, fault.end, stand, duration_s / 3, say))
    return sending.result(), None if causing is None else causing.result()


async def _cause(
    begin: Callable[[Stand], None], end: Callable[[Stand], None], stand: Stand, third_s: float, say: str
) -> dict[str, int]:
    """Cause it after a third of the time, mend it after another; return when that was, in Unix milliseconds."""
    await asyncio.sleep(third_s)
    _say(say)
    began = round(1000 * stand.prometheus.now())
    await asyncio.to_thread(begin, stand)
    await asyncio.sleep(third_s - (stand.prometheus.now() - began / 1000))
    ended = round(1000 * stand.prometheus.now())
    await asyncio.to_thread(end, stand)
    _say("that is mended")
    return {"began_ms": began, "ended_ms": ended}


def where_to_look(stand: Stand) -> tuple[str, ...]:
    """Return the addresses for a browser, one a line."""
    prometheus = f"http://{stand.prometheus.address}"
    graphs = {
        f"g{number}.{key}": value
        for number, expression in enumerate(GRAPHS)
        for key, value in (("expr", expression), ("tab", "0"), ("range_input", "10m"))
    }
    return (
        f"Prometheus:        {prometheus}/classic/graph?{urlencode(graphs)}",
        f"its alerts:        {prometheus}/classic/alerts",
        f"publisher:         http://{stand.publisher.admin}/",
        *(f"proxy {number}:           http://{each.admin}/" for number, each in enumerate(stand.proxies, 1)),
        f"clients ask:       http://{stand.proxies[0].address}/webhdfs/v1/",
        f"Grafana, if there: data source {prometheus}, import deploy/grafana/dashboards/*.json",
    )


def panels(stand: Stand, last_s: float) -> dict[str, object]:
    """Return what the panels of each dashboard show of the last so many seconds, by the dashboard's name."""
    now = stand.prometheus.now()
    stretch = Stretch(start=now - last_s, end=now, step_s=_STEP_S, rate_interval=_RATE_INTERVAL)
    return {
        board.name: as_json(
            shown(board, stand.prometheus, stretch, stand.proxies[0].admin if board.is_of_one else ANY)
        )
        for board in BOARDS
    }


def _say(line: str) -> None:
    click.echo(line, err=True)
