"""`nncache proxies`: list the registered daemons, and ask each for its state."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
import click

from nncache.commands.options import given, with_json, with_settings
from nncache.commands.registry_client import check_root, complain, with_registry
from nncache.commands.registry_view import unreadable
from nncache.logs import one_line
from nncache.registry import paths
from nncache.registry.daemon_record import ADMIN_API, KIND, PLACE, WEBHDFS_API
from nncache.registry.errors import PathNotFoundError
from nncache.registry.operations import Registry
from nncache.registry.pacing import at_once
from nncache.registry.record import Endpoint, RegistryEntry
from nncache.registry.tree_reading import TreeReading, read_tree
from nncache.settings.commands import PROXIES, load_settings

TIMEOUT_S: Final = 3.0
"""Timeout in seconds of a daemon's answer."""

MAX_ANSWER_BYTES: Final = 64 * 1024
"""The size limit of a page /ready: any client that may write to the registry chooses its server."""

READY: Final = "ready"
NOT_READY: Final = "not ready"
SILENT: Final = "no answer"
UNTRUSTED: Final = "its certificate is not trusted here (nncache fleet status takes --admin-ca)"

_OK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDaemon:
    """A registered daemon.

    Attributes:
        state: the state on its page /ready; SILENT or UNTRUSTED if it cannot be asked from here.
    """

    name: str
    kind: str
    state: str
    webhdfs: tuple[str, ...]
    admin: tuple[str, ...]


@with_settings(PROXIES.keys.values())
@click.command()
@with_json
def proxies(*, as_json: bool, config: Path | None, **flags: object) -> None:
    """List the registered proxies and publishers, and ask each for its state.

    Each line has the name in the service registry, the state on the page /ready, and the URLs. Daemons register with
    --registry. Entries that cannot be read are named on standard error.
    """
    settings = load_settings(PROXIES, config, given(flags))

    async def work(registry: Registry) -> None:
        try:
            reading = await read_tree(registry, PLACE)
        except PathNotFoundError as error:
            await check_root(registry, error)
            reading = TreeReading()
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            found = await at_once(partial(_found, http), reading.entries)
        for line in lines(found, as_json=as_json):
            click.echo(line)
        complain(unreadable(reading.unreadable))

    with_registry(settings, work)


def lines(found: list[ListedDaemon], *, as_json: bool) -> list[str]:
    """Return a line for each daemon, or one line of JSON for all."""
    if as_json:
        return [json.dumps([asdict(each) for each in found])]
    return aligned([(each.name, each.state, " ".join(each.webhdfs or each.admin)) for each in found])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        one_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        for row in rows
    ]


async def _found(http: aiohttp.ClientSession, entry: RegistryEntry) -> ListedDaemon:
    admin = _uris(entry.record.internal_endpoint(ADMIN_API))
    return ListedDaemon(
        name=paths.name_of(entry.path),
        kind=entry.record.attributes.get(KIND, ""),
        state=await _state(http, admin[0]) if admin else SILENT,
        webhdfs=_uris(entry.record.external_endpoint(WEBHDFS_API)),
        admin=admin,
    )


async def _state(http: aiohttp.ClientSession, admin: str) -> str:
    try:
        async with http.get(f"{admin.removesuffix('/')}/ready") as reply:
            document = json.loads(await _body(reply))
    except aiohttp.ClientConnectorCertificateError:
        return UNTRUSTED
    except (aiohttp.ClientError, OSError, ValueError, RecursionError):  # TimeoutError is an OSError
        return SILENT
    if reply.status == _OK:
        return READY
    return str(document.get("state", NOT_READY)) if isinstance(document, dict) else NOT_READY


async def _body(reply: aiohttp.ClientResponse) -> bytes:
    """Return the body. Raises ValueError if it is longer than MAX_ANSWER_BYTES."""
    body = bytearray()
    async for chunk in reply.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError(f"more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _uris(endpoint: Endpoint | None) -> tuple[str, ...]:
    return tuple(uri for address in (endpoint.addresses if endpoint else ()) if (uri := address.get("uri")))
