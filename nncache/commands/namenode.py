"""`nncache namenode`, `datanode` and `fsck`: HDFS's namespace on ZooKeeper, served by any number of processes."""

import asyncio
import json
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Final

import click

from nncache.commands.namenode_pages import admin_of
from nncache.coordination.errors import CoordinationError
from nncache.errors import StartError
from nncache.hadoop.feed_znodes import DEFAULT_ROOT
from nncache.logs import one_line
from nncache.namenode.cluster import HOST
from nncache.namenode.node.observer_clocks import DEAD_AFTER_S
from nncache.namenode.on_zookeeper import (
    DoubledError,
    ForeignNamespaceError,
    NameNodeSpec,
    NotASnapshotError,
    Place,
    RunningDataNode,
    RunningNameNode,
    datanode_serving,
    fsck_of,
    namenode_serving,
)
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError

_PORT: Final = click.IntRange(0, 65_535)
_ZOOKEEPER: Final = click.option(
    "--zookeeper", required=True, help="ZooKeeper servers, HOST:PORT,HOST:PORT,..."
)
_ROOT: Final = click.option(
    "--zookeeper-root", default=DEFAULT_ROOT, show_default=True, help="Root znode of the namespace."
)
_HOST: Final = click.option(
    "--host", default=HOST, show_default=True, help="Address on which to listen, by which others reach it."
)


_ADMIN: Final = click.option(
    "--admin",
    default="",
    help="host:port of the health, readiness, metrics and status pages [default: none].",
)

_REFUSALS: Final = (DoubledError, ForeignNamespaceError, NotASnapshotError)
"""Errors whose message says why a process must not start."""


@click.command()
@_ZOOKEEPER
@_ROOT
@_HOST
@_ADMIN
@click.option("--port", type=_PORT, default=0, help="WebHDFS port [default: a free one].")
@click.option("--rpc-port", type=_PORT, default=0, help="RPC port [default: a free one].")
@click.option(
    "--datanode-dead-s",
    type=click.FloatRange(min=0),
    default=DEAD_AFTER_S,
    show_default=True,
    help="Seconds without a heartbeat after which a DataNode's replicas are created elsewhere. "
    "A smaller value moves more data when a DataNode is restarted.",
)
def namenode(
    *,
    zookeeper: str,
    zookeeper_root: str,
    host: str,
    admin: str,
    port: int,
    rpc_port: int,
    datanode_dead_s: float,
) -> None:
    """Serve a namespace in ZooKeeper, as one of any number of NameNodes.

    Prints its addresses as one JSON object when it serves, and runs until Ctrl-C or SIGTERM. The first NameNode of a
    namespace creates it. There is no authentication: see docs/namenode.md.
    """
    place = Place(zookeeper=tuple(zookeeper.split(",")), root=zookeeper_root)
    spec = NameNodeSpec(
        host=host,
        port=port,
        rpc_port=rpc_port,
        dead_after_s=datanode_dead_s,
        is_observed=bool(admin),
    )
    _run(namenode_serving(place, spec), place, admin)


@click.command()
@_ZOOKEEPER
@_ROOT
@click.option(
    "--directory",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the DataNode's blocks and id.",
)
@_HOST
@_ADMIN
@click.option("--port", type=_PORT, default=0, help="WebHDFS port [default: a free one].")
def datanode(
    *, zookeeper: str, zookeeper_root: str, directory: Path, host: str, admin: str, port: int
) -> None:
    """Store the blocks of files, for a namespace in ZooKeeper.

    Prints its address as one JSON object when it serves, and runs until Ctrl-C or SIGTERM.
    """
    place = Place(zookeeper=tuple(zookeeper.split(",")), root=zookeeper_root)
    _run(datanode_serving(place, directory, host=host, port=port), place, admin)


class NotCheckedError(StartError):
    """The namespace could not be audited. Exit code 2, since 1 means a fault in the namespace."""

    exit_code = 2


@click.command()
@_ZOOKEEPER
@_ROOT
@click.option("--repair", is_flag=True, help="Repair findings that can be repaired safely.")
def fsck(*, zookeeper: str, zookeeper_root: str, repair: bool) -> None:
    """Audit a namespace in ZooKeeper while it is served: its tree, blocks, leases and queues.

    Prints a line for each finding. Exit code 0: no finding is left; 1: some are left; 2: the audit failed.
    """
    place = Place(zookeeper=tuple(zookeeper.split(",")), root=zookeeper_root)
    try:
        found = asyncio.run(fsck_of(place, repair=repair))
    except (CoordinationError, NotASnapshotError, SettingError) as error:
        raise NotCheckedError(f"the namespace cannot be audited: {error}") from error
    repaired = set(found.repaired)
    for finding in found.findings:
        what = f"{'repaired: ' if finding in repaired else ''}{finding.kind.value}: {finding.about}"
        click.echo(one_line(what))  # HDFS users choose the names in it
    left = len(found.findings) - len(found.repaired)
    click.echo(f"{found.inodes} inodes, {found.blocks} blocks: {len(found.findings)} findings, {left} left")
    sys.exit(1 if left else 0)


def _run(
    serving: AbstractAsyncContextManager[RunningNameNode] | AbstractAsyncContextManager[RunningDataNode],
    place: Place,
    admin: str,
) -> None:
    try:
        at = parse_endpoint("admin", admin) if admin else None
        asyncio.run(_serve(serving, place, at))
    except (*_REFUSALS, CoordinationError, OSError, SettingError, TimeoutError) as error:
        raise StartError(f"it cannot start: {error}") from error
    except ExceptionGroup as group:  # raised by the periodic work
        doubled = group.subgroup(DoubledError)
        if doubled is None:
            raise
        raise StartError(f"it ends: {doubled.exceptions[0]}") from group


async def _serve(
    serving: AbstractAsyncContextManager[RunningNameNode] | AbstractAsyncContextManager[RunningDataNode],
    place: Place,
    admin: ListenAddress | None,
) -> None:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    async with serving as running, AsyncExitStack() as pages:
        status: dict[str, Any] = {
            "zookeeper": ",".join(place.zookeeper),
            "root": place.root,
            "pid": os.getpid(),
        }
        match running:
            case RunningNameNode():
                status |= {
                    "namenode_http": running.http,
                    "namenode_rpc": running.rpc,
                    "superuser": running.superuser,
                }
            case RunningDataNode():
                status |= {"datanode_http": running.http, "datanode": running.datanode.name}
        if admin is not None:
            status["admin"] = (await pages.enter_async_context(admin_of(running, admin))).url
        click.echo(json.dumps(status))
        await ending.wait()
