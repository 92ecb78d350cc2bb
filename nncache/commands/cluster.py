"""`nncache cluster`: HDFS on this machine, or a WebHDFS without Java."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click

from nncache.errors import StartError
from nncache.namenode.cluster import LightSpec, Parts, serving

_PORT = click.IntRange(0, 65_535)


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def cluster(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Start HDFS on this machine for development, and print its addresses as JSON.

    Without --light: a real cluster, which needs a checkout. With --light: one process without Java
    (docs/light-cluster.md), with the options --port PORT, --rpc-port PORT and --directory DIRECTORY.
    """
    if "--light" in arguments:
        light_command.main(list(arguments), prog_name=context.command_path)
    try:
        from nncache.testbed.command import run_cluster  # noqa: PLC0415 - an installed nncache has none
    except ModuleNotFoundError as exc:
        if exc.name != "nncache.testbed":
            raise
        raise StartError(
            "the test bed is part of a checkout, not of an installed nncache: "
            "clone the repository and run `make .venv/.secured && .venv/bin/nncache cluster` in it, "
            "or run `nncache cluster --light`, which needs neither a checkout nor Java"
        ) from exc
    sys.exit(run_cluster(list(arguments)))


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--light", is_flag=True, required=True, expose_value=False, help="Run without Java: this command."
)
@click.option("--port", type=_PORT, default=0, help="WebHDFS port on 127.0.0.1 [default: a free one].")
@click.option("--rpc-port", type=_PORT, default=0, help="RPC port on 127.0.0.1 [default: a free one].")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that keeps all state for the next start [default: nothing is kept].",
)
def light_command(*, port: int, rpc_port: int, directory: Path | None) -> None:
    """Start a WebHDFS in one process, for tests and first experiments.

    When it serves, it prints its addresses on standard output as one JSON object, with the keys of a real cluster. It
    runs until Ctrl-C or SIGTERM. docs/light-cluster.md lists the differences from HDFS.
    """
    try:
        asyncio.run(_run(LightSpec(port=port, rpc_port=rpc_port, directory=directory)))
    except OSError as error:
        raise StartError(f"the light cluster cannot start: {error}") from error


async def _run(spec: LightSpec) -> None:
    began = time.monotonic()
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    async with serving(spec) as parts:
        click.echo(json.dumps(_described(spec, parts, time.monotonic() - began)))
        click.echo("Ctrl-C stops it", err=True)
        await ending.wait()


def _described(spec: LightSpec, parts: Parts, start_s: float) -> dict[str, Any]:
    """Return the addresses and users of the cluster, as `nncache.testbed.command.describe` does."""
    return {
        "hadoop_version": "3.5.0",  # the release whose WebHDFS it serves
        "nameservice": "ns1",
        "superuser": spec.superuser,
        "users": {user: list(groups) for user, groups in spec.users.items()},
        "namenode_http": [parts.namenode_http],
        "namenode_rpc": [parts.namenode_rpc],
        "datanode_http": parts.datanode_http,
        "zookeeper": None,
        "directory": str(parts.directory),
        "logs": None,
        "conf_dir": None,
        "kerberos": None,
        "tls": None,
        "pids": {"light": os.getpid()},
        "start_s": {"total": round(start_s, 2)},
    }
