"""`nncache registry`: names bound to service records in ZooKeeper.

Every command raises RegistryCommandError if ZooKeeper does not answer or the registry refuses, and ConfigurationError
if the login at ZooKeeper cannot be set up.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from nncache.commands import registry_view
from nncache.commands.options import given, with_json, with_settings
from nncache.commands.registry_client import Work, check_root, complain, with_registry
from nncache.commands.registry_reaper import Reaper
from nncache.errors import ConfigurationError, RegistryCommandError, RegistryNotReadError
from nncache.logs import one_line
from nncache.registry import paths
from nncache.registry.auditing import audit_tree
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.operations import Registry
from nncache.registry.purge_plan import plan_purge
from nncache.registry.record_json import encode_record, parse_record
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import TreeWatch
from nncache.settings.commands import REAPER, REGISTRY, load_settings

_with_surroundings = with_settings(REGISTRY.keys.values())
_with_path = click.argument("path")
_with_top = click.argument("path", default="/")
_with_recursive = click.option("--recursive", "-r", is_flag=True, help="Include all entries below it.")


@click.group()
def registry() -> None:
    """Find services by name, and register them.

    The registry is that of Hadoop's YARN: paths such as /services/hdfs and /users/joe/org-apache-hbase/demo1 are bound
    to service records in ZooKeeper. Hadoop's own clients read and write the same records.
    """


@_with_surroundings
@registry.command("ls")
@_with_top
@_with_recursive
@with_json
def list_(path: str, *, recursive: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """List the entries below PATH.

    Each line has the number of entries below an entry, the bytes of its record, its time of creation and its path.
    Entries that --recursive cannot read are named on standard error.
    """

    async def work(registry: Registry) -> None:
        top = paths.readable(path)
        if recursive:
            reading = await read_tree(registry, top)
            found = [entry.status for entry in reading.entries] + list(reading.bare)
            statuses = tuple(sorted(found, key=lambda status: paths.in_order(status.path)))
            complain(registry_view.unreadable(reading.unreadable))
        else:
            names = await registry.list(top)
            statuses = await registry.stat_all([paths.below(top, name) for name in names])
        _print(registry_view.statuses(statuses, as_json=as_json))

    _run(config, flags, work)


@_with_surroundings
@registry.command()
@_with_path
@click.option("--raw", is_flag=True, help="Print the record's bytes unchanged.")
def resolve(path: str, *, raw: bool, config: Path | None, **flags: object) -> None:
    """Print the service record at PATH, as JSON."""

    async def work(registry: Registry) -> None:
        data = encode_record(await registry.resolve(path))
        click.echo(data if raw else json.dumps(json.loads(data), indent=2))

    _run(config, flags, work)


@_with_surroundings
@registry.command()
@_with_path
@click.option("--parents", "-p", is_flag=True, help="Also create missing entries above it.")
def mknode(path: str, *, parents: bool, config: Path | None, **flags: object) -> None:
    """Create an entry without a record.

    An existing entry is not an error.
    """

    async def work(registry: Registry) -> None:
        await registry.mknode(path, create_parents=parents)

    _run(config, flags, work)


@_with_surroundings
@registry.command()
@_with_path
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--overwrite", is_flag=True, help="Replace the record of an existing entry.")
@click.option(
    "--version", type=click.IntRange(0), help="Replace the record only if it has this version (ls --json)."
)
def bind(
    path: str, file: Path, *, overwrite: bool, version: int | None, config: Path | None, **flags: object
) -> None:
    """Bind the service record in FILE to PATH.

    FILE is JSON of type JSONServiceRecord, as resolve prints it; - is standard input. The entry above PATH must
    exist.
    """
    settings = load_settings(REGISTRY, config, given(flags))
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        record = parse_record(str(file), data)
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    except (NoRecordError, InvalidRecordError) as error:
        raise ConfigurationError(str(error)) from error

    async def work(registry: Registry) -> None:
        await registry.bind(path, record, overwrite=overwrite, version=version)

    with_registry(settings, work)


@_with_surroundings
@registry.command("rm")
@_with_path
@_with_recursive
def remove(path: str, *, recursive: bool, config: Path | None, **flags: object) -> None:
    """Remove the entry at PATH.

    A missing entry is not an error.
    """

    async def work(registry: Registry) -> None:
        if not await registry.delete(path, recursive=recursive):
            await check_root(registry)

    _run(config, flags, work)


@_with_surroundings
@registry.command(short_help="Find service records by the API of their endpoints.")
@click.option(
    "--endpoint-field",
    "query",
    required=True,
    metavar="FIELD=VALUE",
    help="api, protocol or addressType, and its value; a value that ends in * is a prefix.",
)
@_with_top
@click.option("--limit", type=click.IntRange(1), help="Maximum number of records to print.")
@click.option(
    "--after", default="", metavar="PATH", help="Start after this path: that of the last one printed."
)
@with_json
def find(
    query: str,
    path: str,
    *,
    limit: int | None,
    after: str,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Find the service records at and below PATH with a matching endpoint.

    Each line has the path of a record, and the addresses of its matching endpoints.
    """
    try:
        wanted = EndpointQuery.parse(query)
    except ValueError as error:
        raise ConfigurationError(f"--endpoint-field {query}: {error}") from error

    async def work(registry: Registry) -> None:
        reading = await read_tree(registry, path, wanted, after=after, limit=limit)
        _print(registry_view.found(reading.entries, wanted, as_json=as_json))
        complain(f"{broken.path}: not searched: {broken.why}" for broken in reading.unreadable)

    _run(config, flags, work)


@_with_surroundings
@registry.command(short_help="Print what is below PATH and how it changes.")
@_with_top
@with_json
def watch(path: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Print the entries at and below PATH, and their changes, until Ctrl-C (which is not an error).

    A line begins with + for an entry that exists or has another record, and with - for a removed entry. A line with --
    reports that all entries are printed, or that the connection was lost and changes may have been missed.
    """

    async def work(registry: Registry) -> None:
        session: Any = registry.zookeeper
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        await check_root(registry)
        try:
            async for change in TreeWatch(session, registry.root, path).changes():
                click.echo(registry_view.change(change, as_json=as_json))
        except asyncio.CancelledError:
            return

    _run(config, flags, work)


@_with_surroundings
@registry.command(short_help="Look for broken records, impossible names and wrong ACLs.")
@_with_top
@with_json
def check(path: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Check the entries below PATH for broken records, invalid names and wrong ACLs.

    The exit code is 1 if there are any. ACLs are checked only with --registry-secure.
    """
    faults: dict[str, tuple[str, ...]] = {}

    async def work(registry: Registry) -> None:
        faults.update(await audit_tree(registry, path))

    try:
        _run(config, flags, work)
    except RegistryCommandError as error:
        raise RegistryNotReadError(str(error)) from error
    _print([json.dumps(faults)] if as_json else registry_view.faults(faults))
    if faults:
        sys.exit(1)


@_with_surroundings
@registry.command(short_help="Delete the records below PATH of an application or id.")
@click.option(
    "--id", "yarn_id", required=True, help="yarn:id of the application, attempt or container that has ended."
)
@click.option(
    "--policy",
    required=True,
    type=click.Choice(["application", "application-attempt", "container"]),
    help="yarn:persistence of the records to delete.",
)
@_with_top
@click.option("--yes", is_flag=True, help="Delete the records. Without it, only print what would be deleted.")
def purge(yarn_id: str, policy: str, path: str, *, yes: bool, config: Path | None, **flags: object) -> None:
    """Delete the records below PATH that belong to an application, an attempt or a container that has ended.

    Without --yes, only prints what it would delete. An entry stays, and is named, if anything below it cannot be read
    or belongs to something else. YARN does this itself if it runs its registry.
    """

    async def work(registry: Registry) -> None:
        reading = await read_tree(registry, path)
        unreadable = [broken.path for broken in reading.unreadable]
        plan = plan_purge(reading.records, unreadable, yarn_id, policy)
        versions = {entry.path: entry.status.version for entry in reading.entries}
        for doomed in plan.delete:
            if yes:
                await registry.delete(doomed, version=versions.get(doomed))
            click.echo(one_line(f"{'deleted' if yes else 'would delete'} {doomed}"))
        complain(registry_view.kept(plan.kept))

    _run(config, flags, work)


@with_settings(REAPER.keys.values())
@registry.command(short_help="Delete the records of YARN applications that have ended.")
@_with_top
@click.option("--yes", is_flag=True, help="Delete the records. Without it, only print what would be deleted.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --yes: repeat until SIGTERM or SIGINT.",
)
@with_json
def reaper(
    path: str, *, yes: bool, every_s: float | None, as_json: bool, config: Path | None, **flags: object
) -> None:
    """Delete the records below PATH of YARN's applications, attempts and containers that have ended.

    Asks the active ResourceManager about each. Without --yes, only prints what it would delete and, on standard error,
    what it keeps and why. A record is kept if there is any doubt. YARN does this itself if it runs its registry.
    """
    if every_s is not None and not yes:
        raise click.UsageError("--every needs --yes: a dry run is printed once")
    settings = load_settings(REAPER, config, given(flags))
    Reaper(settings, path, as_json=as_json).run(delete=yes, every_s=every_s)


def _run(config: Path | None, flags: dict[str, object], work: Work) -> None:
    with_registry(load_settings(REGISTRY, config, given(flags)), work)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
