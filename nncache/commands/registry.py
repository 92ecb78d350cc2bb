"""`nncache registry`: names bound to service records in ZooKeeper."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nncache.commands.options import given, with_settings
from nncache.errors import ConfigurationError
from nncache.registry.endpoint_query import EndpointQuery
from nncache.settings.commands import REAPER, REGISTRY, load_settings

if TYPE_CHECKING:
    from nncache.commands.registry_client import RegistryClient

_F = TypeVar("_F", bound=Callable[..., Any])

_with_surroundings = with_settings(REGISTRY.keys.values())
_with_config = click.option(
    "--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it."
)
_with_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_with_path = click.argument("path")
_with_top = click.argument("path", default="/")


def _with_recursive(meaning: str) -> Callable[[_F], _F]:
    return click.option("--recursive", "-r", is_flag=True, help=meaning)


@click.group()
def registry() -> None:
    """Find services by name, and register them.

    The registry is that of Hadoop's YARN: paths such as /services/hdfs and /users/joe/org-apache-hbase/demo1, bound to
    service records in ZooKeeper. Hadoop's own clients read and write the same.
    """


@_with_surroundings
@registry.command("ls")
@_with_top
@_with_recursive("All below it, too.")
@_with_json
@_with_config
def list_(path: str, *, recursive: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """List the entries below PATH.

    One line for each: the number of entries below it, the bytes of its record, when it was made, its path.
    """
    _client(config, flags).list(path, recursive=recursive, as_json=as_json)


@_with_surroundings
@registry.command()
@_with_path
@click.option("--raw", is_flag=True, help="Print the record's bytes as they are.")
@_with_config
def resolve(path: str, *, raw: bool, config: Path | None, **flags: object) -> None:
    """Print the service record at PATH, as JSON."""
    _client(config, flags).resolve(path, raw=raw)


@_with_surroundings
@registry.command()
@_with_path
@click.option("--parents", "-p", is_flag=True, help="The entries above it, too.")
@_with_config
def mknode(path: str, *, parents: bool, config: Path | None, **flags: object) -> None:
    """Make an entry without a record.

    It is no failure if it is there.
    """
    _client(config, flags).mknode(path, parents=parents)


@_with_surroundings
@registry.command()
@_with_path
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--overwrite", is_flag=True, help="Replace the record of an entry that is there.")
@click.option(
    "--version", type=click.IntRange(0), help="Replace the record only if it has this version (ls --json)."
)
@_with_config
def bind(
    path: str, file: Path, *, overwrite: bool, version: int | None, config: Path | None, **flags: object
) -> None:
    """Bind the service record in FILE to PATH.

    FILE is JSON of type JSONServiceRecord, as resolve prints it; - is standard input. The entry above PATH must be
    there.
    """
    _client(config, flags).bind(path, file, overwrite=overwrite, version=version)


@_with_surroundings
@registry.command("rm")
@_with_path
@_with_recursive("All below it, too.")
@_with_config
def remove(path: str, *, recursive: bool, config: Path | None, **flags: object) -> None:
    """Remove the entry at PATH.

    It is no failure if it is not there.
    """
    _client(config, flags).remove(path, recursive=recursive)


@_with_surroundings
@registry.command(short_help="Find service records by the API of their endpoints.")
@click.option(
    "--endpoint-field",
    "query",
    required=True,
    metavar="FIELD=VALUE",
    help="api, protocol or addressType, and its value; one that ends in * is how it begins.",
)
@_with_top
@click.option("--limit", type=click.IntRange(1), help="Print so many at most.")
@click.option(
    "--after", default="", metavar="PATH", help="Begin behind this path: that of the last one printed."
)
@_with_json
@_with_config
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
    """Find the service records below PATH with an endpoint of this kind.

    One line for each: its path, and the addresses of the endpoints that match.
    """
    try:
        wanted = EndpointQuery.parse(query)
    except ValueError as error:
        raise ConfigurationError(f"--endpoint-field {query}: {error}") from error
    _client(config, flags).find(path, wanted, limit=limit, after=after, as_json=as_json)


@_with_surroundings
@registry.command(short_help="Print what is below PATH and how it changes.")
@_with_top
@_with_json
@_with_config
def watch(path: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Print what is below PATH and how it changes, until Ctrl-C (which is no failure).

    Lines begin with + for an entry that is there or has another record, - for one that is gone. A line that begins with
    -- says that everything has been printed, or that the connection was lost and changes may have gone by unseen.
    """
    _client(config, flags).watch(path, as_json=as_json)


@_with_surroundings
@registry.command(short_help="Look for broken records, impossible names and wrong ACLs.")
@_with_top
@_with_json
@_with_config
def check(path: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Look for broken records, names that are none, and wrong ACLs below PATH.

    Ends with 1 if there are any. ACLs are looked at with --registry-secure alone.
    """
    _client(config, flags).check(path, as_json=as_json)


@_with_surroundings
@registry.command(short_help="Delete the records below PATH of an application or id.")
@click.option("--id", "yarn_id", required=True, help="The yarn:id of what has ended.")
@click.option(
    "--policy",
    required=True,
    type=click.Choice(["application", "application-attempt", "container"]),
    help="The yarn:persistence of the records that go with it.",
)
@_with_top
@click.option("--yes", is_flag=True, help="Delete them; else it is only printed what would be deleted.")
@_with_config
def purge(yarn_id: str, policy: str, path: str, *, yes: bool, config: Path | None, **flags: object) -> None:
    """Delete the records below PATH that go with an application, an attempt or a container that has ended.

    Without --yes it only prints what it would delete. An entry stays, and is named, where something below it cannot be
    read or belongs to something else. YARN does this by itself where it runs its registry.
    """
    _client(config, flags).purge(path, yarn_id, policy, delete=yes)


@with_settings(REAPER.keys.values())
@registry.command(short_help="Delete the records of YARN applications that have ended.")
@_with_top
@click.option("--yes", is_flag=True, help="Delete them; else it is only printed what would be deleted.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --yes: look again and again, until SIGTERM or SIGINT.",
)
@_with_json
@_with_config
def reaper(
    path: str, *, yes: bool, every_s: float | None, as_json: bool, config: Path | None, **flags: object
) -> None:
    """Delete the records below PATH of YARN's applications, attempts and containers that have ended.

    The active ResourceManager is asked about each. Without --yes it is only printed what would be deleted, and, on
    standard error, what stays and why. On any doubt a record stays. YARN does this by itself where it runs its
    registry.
    """
    if every_s is not None and not yes:
        raise click.UsageError("--every needs --yes: a dry run is printed once")
    settings = load_settings(REAPER, config, given(flags))
    from nncache.commands.registry_reaper import Reaper  # noqa: PLC0415 - --help and a wrong setting load no client

    Reaper(settings, path, as_json=as_json).run(delete=yes, every_s=every_s)


def _client(config: Path | None, flags: dict[str, object]) -> "RegistryClient":
    settings = load_settings(REGISTRY, config, given(flags))
    from nncache.commands.registry_client import RegistryClient  # noqa: PLC0415 - --help and a wrong setting load no client

    return RegistryClient(settings)
