"""A client of the admin ports of all registered proxies.

Any client that may write to the registry chooses their addresses. So each reply is bounded in bytes and in time, and
cannot affect the replies of other proxies.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeVar

import aiohttp
from yarl import URL

from nncache.admin.settings import read_tokens
from nncache.commands.admin_client import answer_of
from nncache.commands.registry_client import check_root, with_registry
from nncache.errors import (
    AdminError,
    ConfigurationError,
    FleetError,
    FleetNotAskedError,
    RegistryCommandError,
    RegistryNotReadError,
)
from nncache.net.http_failure import tls_error_of, why_unanswered
from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context
from nncache.registry.addresses import place_of
from nncache.registry.daemon_record import ADMIN_API, KIND, PLACE, PROXY, PUBLISHER
from nncache.registry.errors import PathNotFoundError
from nncache.registry.operations import Registry
from nncache.registry.pacing import at_once
from nncache.registry.record import RegistryEntry
from nncache.registry.tree_reading import read_tree
from nncache.settings.commands import SettingsOfFleet

AT_ONCE: Final = 64
"""How many proxies are asked at the same time."""

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024

_TLS: Final = "https"

_ShownT = TypeVar("_ShownT")


@dataclass(frozen=True, slots=True)
class FleetMember:
    """A registered proxy: its name, the URL of its admin port without a path, and why it cannot be asked."""

    name: str
    admin: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """The answer of a proxy: its JSON document, or None and the reason."""

    name: str
    document: dict[str, Any] | None
    why: str = ""


def registered_proxies(settings: SettingsOfFleet) -> tuple[FleetMember, ...]:
    """Return the proxies that are registered now, at least one.

    Raises:
        FleetNotAskedError: no proxy is registered.
        RegistryNotReadError: ZooKeeper does not answer, or the registry refuses.
        ConfigurationError: the login at ZooKeeper cannot be set up.
    """
    found: list[FleetMember] = []

    async def work(registry: Registry) -> None:
        found.extend(await read_members(registry))

    try:
        with_registry(settings, work)
    except RegistryCommandError as error:
        raise RegistryNotReadError(str(error)) from error
    if not found:
        raise FleetNotAskedError(
            f"no proxy is registered at {settings.registry.registry_root}{PLACE} in ZooKeeper: give each --registry"
        )
    return tuple(found)


async def read_members(registry: Registry) -> tuple[FleetMember, ...]:
    """Return the registered proxies. They include unreadable entries, which may be proxies."""
    session: Any = registry.zookeeper
    await session.sync(registry.root)  # else a server that lags behind could omit one
    try:
        reading = await read_tree(registry, PLACE)
    except PathNotFoundError as error:
        await check_root(registry, error)
        return ()
    found = [_member(entry) for entry in reading.entries if entry.record.attributes.get(KIND) == PROXY]
    found += (
        FleetMember(name, "", f"its entry in the registry cannot be read: {each.why}")
        for each in reading.unreadable
        if not (name := _name_of(each.path)).startswith(f"{PUBLISHER}-")
    )
    return tuple(sorted(found, key=lambda member: member.name))


def _name_of(path: str) -> str:
    return path.removeprefix(f"{PLACE}/")


def _member(entry: RegistryEntry) -> FleetMember:
    name = _name_of(entry.path)
    endpoint = entry.record.internal_endpoint(ADMIN_API)
    place = place_of(endpoint.addresses[0]) if endpoint is not None and endpoint.addresses else None
    if place is None or place.scheme not in {"http", _TLS}:
        return FleetMember(name, "", f"its entry in the registry has no URL of {ADMIN_API}")
    return FleetMember(name, f"{place.scheme}://{place.authority}{place.path.removesuffix('/')}")


class Fleet:
    """A client of all proxies, to be entered as an async context. Each proxy has `within_s` seconds to answer."""

    def __init__(self, settings: SettingsOfFleet, within_s: float) -> None:
        """Read the token and the certificate authorities.

        Raises:
            ConfigurationError: one of the files cannot be used.
        """
        fleet = settings.fleet
        try:
            tokens = read_tokens("admin_token_file", fleet.admin_token_file)
            self._tls: ssl.SSLContext = client_context("admin_ca", fleet.admin_ca)
        except SettingError as error:
            raise ConfigurationError(str(error)) from error
        self._token = tokens[0].value if tokens else ""
        self._within_s = within_s

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, force_close=True, ssl=self._tls)
        timeout = aiohttp.ClientTimeout(total=self._within_s)
        # Names are resolved in threads: one for each proxy that is asked, so that no name delays another.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(AT_ONCE))
        self._http = aiohttp.ClientSession(
            connector=connector, timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def ask(
        self, member: FleetMember, target: str, method: Literal["GET", "POST"] = "GET"
    ) -> MemberAnswer:
        """Return the answer of one proxy."""
        if member.fault:
            return MemberAnswer(member.name, None, member.fault)
        if self._token and not member.admin.startswith(f"{_TLS}:"):
            return MemberAnswer(
                member.name,
                None,
                f"{member.admin} is plain HTTP, over which no token is sent: give it an admin_tls_certificate",
            )
        fields = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            async with self._http.request(
                method, URL(member.admin + target, encoded=True), headers=fields, allow_redirects=False
            ) as reply:
                body = bytearray()
                async for chunk in reply.content.iter_any():
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES:
                        return MemberAnswer(member.name, None, f"answered more than {MAX_ANSWER_BYTES} bytes")
            return MemberAnswer(member.name, answer_of(member.admin, reply.status, bytes(body)))
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            return MemberAnswer(member.name, None, self._why(error))
        except AdminError as error:
            return MemberAnswer(member.name, None, str(error))

    async def ask_all(
        self, members: Sequence[FleetMember], target: str, method: Literal["GET", "POST"] = "GET"
    ) -> list[MemberAnswer]:
        """Return the answers of these proxies, in their order."""
        return await at_once(lambda member: self.ask(member, target, method), members, AT_ONCE)

    def _why(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._within_s:g} s"
        if (of_tls := tls_error_of(error)) is not None:
            reason = getattr(of_tls, "verify_message", "") or of_tls.reason or of_tls
            return f"its certificate is not trusted, or it speaks no TLS: {reason}"
        if isinstance(error, aiohttp.ClientConnectorError):
            return why_unanswered(error)
        return f"no answer: {str(error) or type(error).__name__}"


def ask_once(
    settings: SettingsOfFleet, within_s: float, target: str, method: Literal["GET", "POST"] = "GET"
) -> list[MemberAnswer]:
    """Return the answers of all registered proxies. Raises as `registered_proxies` and `Fleet`."""

    async def asked() -> list[MemberAnswer]:
        async with fleet:
            return await fleet.ask_all(members, target, method)

    fleet, members = Fleet(settings, within_s), registered_proxies(settings)
    return asyncio.run(asked())


def shown(
    answers: Sequence[MemberAnswer], show: Callable[[dict[str, Any]], _ShownT]
) -> list[tuple[MemberAnswer, _ShownT | None]]:
    """Return each answer with the result of `show` for its document. A document of another form is a failure."""
    found: list[tuple[MemberAnswer, _ShownT | None]] = []
    for each in answers:
        try:
            found.append((each, None if each.document is None else show(each.document)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            why = f"its answer is not a proxy's: {type(error).__name__}: {error}"
            found.append((MemberAnswer(each.name, None, why), None))
    return found


def require_all(answers: Iterable[MemberAnswer], done: str) -> None:
    """Check that all proxies have answered; `done` names the request in the error, such as "purged:".

    Raises:
        FleetError: some proxies have not answered. Its lines name them.
    """
    asked = tuple(answers)
    failed = [f"{each.name}: {each.why}" for each in asked if each.document is None]
    if failed:
        raise FleetError(*failed, f"{done} {len(asked) - len(failed)} of {len(asked)} registered proxies")
