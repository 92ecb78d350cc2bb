"""The frame of a command on a real cluster: start it, show progress, print figures and shortfalls."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Final, NoReturn

import click
from rich.console import Console
from rich.progress import Progress

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP, SESSION
from tests.kerberos import clients_of
from tests.real.light_server import LightServer

CONSOLE: Final = Console(stderr=True)
"""Standard error for people; figures go to standard output."""

hadoop_option: Final = click.option(
    "--hadoop", default=HADOOP, show_default=True, help="Hadoop release of the cluster."
)


@contextmanager
def started(spec: ClusterSpec = SESSION) -> Iterator[Cluster]:
    """Start a cluster. This process and its children are clients of its KDC, if it has one."""
    with (
        Cluster.start(spec, progress=CONSOLE.print) as cluster,
        nullcontext() if cluster.kdc is None else clients_of(cluster.kdc),
    ):
        yield cluster


@contextmanager
def started_light(*, with_zookeeper: bool) -> Iterator[Cluster]:
    """Start a light cluster, and a ZooKeeper if requested."""
    with (
        ZooKeeperServer() if with_zookeeper else nullcontext() as zookeeper,
        LightServer(zookeeper) as cluster,
    ):
        yield cluster


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar during the block; yield a function to call per step. `CONSOLE.print` prints above it."""
    with Progress(console=CONSOLE) as bar:
        yield partial(bar.advance, bar.add_task(what, total=total))


def show(lines: Iterable[str]) -> None:
    """Print figures, indented."""
    for line in lines:
        click.echo(f"  {line}")


def conclude(shortfalls: Iterable[str]) -> NoReturn:
    """Print the shortfalls and exit, with code 1 if there are any."""
    found = list(shortfalls)
    for what in found:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(found))
