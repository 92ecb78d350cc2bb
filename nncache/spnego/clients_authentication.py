"""Build what authenticates clients in the proxy itself."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import aiohttp

from nncache.clock import unix_time
from nncache.hadoop.configuration import RESOURCES, BadConfigurationError, Configuration
from nncache.hadoop.doas_trial import Trial, try_doas
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.auth_to_local import (
    DEFAULT_RULES,
    MECHANISM_KEY,
    RULES_KEY,
    AuthToLocal,
    BadRuleError,
)
from nncache.hadoop.kerberos.gss import Mechanism
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.krb5_library import default_realm
from nncache.hadoop.kerberos.principal import parse_principal
from nncache.hadoop.kerberos.services import fault_of_keytab, services_of
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.proxy_users import parse_proxy_users
from nncache.net.setting_error import SettingError
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.decide.issued_tokens import IssuedTokens
from nncache.proxy.decide.reads import Read, ReadAnswer
from nncache.proxy.decide.waits import Waits
from nncache.proxy.upstream.service_login import TIMEOUT_S, ServiceLogin
from nncache.spnego.handshakes import Handshakes, accept_with
from nncache.spnego.impersonation import Impersonation
from nncache.spnego.replays import TIMEOUT_S as REPLAYS_TIMEOUT_S
from nncache.spnego.replays import ReplayCheck
from nncache.spnego.settings import TerminationSettings
from nncache.spnego.signing_keys import SigningKeys
from nncache.spnego.stats import TerminationStats
from nncache.spnego.terminator import Terminator

DOAS_TIMEOUT_S: Final = 10.0
"""For one question: the first one of a NameNode that has just started takes seconds."""

UNANSWERED_S: Final = 10.0
"""Until it is tried again where no NameNode has answered."""

REFUSED_S: Final = 60.0
"""Until it is tried again where one has refused, so that the log also says when that is mended."""


class ImpersonationTrial:
    """Tries one `doas` until a NameNode lets this service act for others."""

    def __init__(self, identity: KerberosIdentity, addresses: Sequence[str], web: NameNodeWeb) -> None:
        """Try it as this identity at these NameNodes, host:port each."""
        self._identity = identity
        self._addresses = addresses
        self._web = web

    async def run(self) -> NoReturn:
        """Do it; the first answer of a NameNode counts, whichever that is: they share their rules."""
        is_refused = False
        while (trial := await self._tried()) is None or (trial.refusal and trial.is_proof):
            if trial is not None and not is_refused:
                is_refused = True
                _log.warning(
                    "nncache is not allowed to impersonate its clients: as %s it may not act for %s (%s), so that "
                    "calls of all clients are answered with 403: %s",
                    trial.name,
                    trial.user,
                    trial.refusal,
                    trial.to_do,
                )
            await asyncio.sleep(UNANSWERED_S if trial is None else REFUSED_S)
        if is_refused:
            _log.info("the NameNodes let %s act for its clients", trial.name)
        await asyncio.Event().wait()
        raise AssertionError

    async def _tried(self) -> Trial | None:
        login = WebLogin(self._identity, self._addresses, timeout_s=DOAS_TIMEOUT_S)
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=DOAS_TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(login,),
        ) as session:
            for address in self._addresses:
                try:
                    trial = await try_doas(session, address, self._web)
                except (aiohttp.ClientError, OSError, KerberosError):  # others say so, with what follows
                    continue
                if trial is not None:
                    return trial
        return None


_log = logging.getLogger(__name__)

_HADOOP: Final = "hadoop"  # the mechanism of auth_to_local that is understood
_REPLAYS_OFF: Final[Mapping[str, tuple[str, ...]]] = {
    "KRB5RCACHENAME": ("none:",),
    "KRB5RCACHETYPE": ("none",),
}
"""With these MIT Kerberos would take a ticket that was seen before once more."""


@dataclass(frozen=True, slots=True)
class ClientsAuthentication:
    """What authenticates clients.

    Attributes:
        keys: sign the cookies.
        terminator: judges requests.
        login: of the service, at the NameNodes.
        issued: tokens that were given to clients.
        trial: whether the service may act for clients.
        replays: says whether tickets that have come before are refused.
    """

    keys: SigningKeys
    terminator: Terminator
    login: ServiceLogin
    issued: IssuedTokens
    trial: ImpersonationTrial
    replays: ReplayCheck

    async def see_replays_are_refused(self) -> None:
        """Return if they are, or if the KDC does not say it now: then no ticket is accepted until it does.

        Raises:
            SettingError: they are not; says what to do.
        """
        await self.replays.look()
        if self.replays.is_refuted:
            raise SettingError("spnego_principal", "given", self.replays.fault)

    def tell(self, waits: Waits[Read, ReadAnswer], fast_path: FastPath) -> None:
        """Tell them when a credential ends: what the fast path knows goes with the key of its cookie."""
        self.issued.on_ended.append(waits.token_ended)
        self.keys.on_retired += (fast_path.forget_all, waits.key_retired)

    @property
    def background(self) -> tuple[tuple[str, Callable[[], Awaitable[NoReturn]]], ...]:
        """Return what has to be done meanwhile, with its name."""
        return (
            ("the secrets that sign cookies", self.keys.run),
            ("the trial of hadoop.proxyuser rules", self.trial.run),
            ("the check of the replay cache", self.replays.run),
        )

    def stats(self) -> TerminationStats:
        """Return the figures so far."""
        return self.terminator.stats(login_failures=self.login.failures)


def clients_authentication_of(
    wanted: TerminationSettings,
    hadoop_conf_dir: str,
    namenodes: Sequence[str],
    identity: KerberosIdentity | None,
    web: NameNodeWeb,
    clock: Callable[[], float],
    *,
    token_believed_s: float,
) -> ClientsAuthentication | None:
    """Return what the settings ask for; None: the NameNodes authenticate.

    Args:
        wanted: whether and how.
        hadoop_conf_dir: has auth_to_local and the rules of proxy users.
        namenodes: host:port of their web servers.
        identity: of the service, at the NameNodes.
        web: how those are reached.
        clock: seconds of CLOCK_BOOTTIME.
        token_believed_s: for how long a delegation token that was given to a client says who asks.

    Raises:
        SettingError: a file, a rule or a principal cannot be used; says what to do.
    """
    if not wanted.is_on:
        return None
    assert identity is not None, "SettingsOfProxy"
    keytab = wanted.spnego_keytab
    try:
        realm, own = default_realm(), services_of(wanted.spnego_principal)
    except KerberosError as error:
        raise SettingError("spnego_principal", ", ".join(wanted.spnego_principal), str(error)) from error
    if fault := fault_of_keytab(keytab, own):
        raise SettingError("spnego_keytab", keytab, fault)
    _see_replays_are_found()
    services = frozenset(map(str, own))
    hadoop = _configuration(hadoop_conf_dir)
    proxy_users = parse_proxy_users(hadoop)
    keys = SigningKeys(wanted.cookie_secret_file)
    accept = partial(accept_with, keytab)
    replays = ReplayCheck(sorted(services), partial(_token_for, identity), accept)
    terminator = Terminator(
        Handshakes(services, accept, wanted.max_handshakes, lambda: replays.fault),
        lambda: keys.keys,
        _names(hadoop, realm),
        Impersonation(proxy_users, clock),
        clock,
        unix_time=unix_time,
        validity_s=wanted.cookie_validity_s,
    )
    _log.info(
        "clients are authenticated here as %s; proxy users: %s",
        ", ".join(sorted(services)),
        ", ".join(sorted(proxy_users)) or "none",
    )
    login = ServiceLogin(WebLogin(identity, namenodes, timeout_s=TIMEOUT_S), clock, web)
    issued = IssuedTokens(clock, believed_for_s=token_believed_s)
    trial = ImpersonationTrial(identity, namenodes, web)
    return ClientsAuthentication(keys, terminator, login, issued, trial, replays)


async def _token_for(identity: KerberosIdentity, service: str) -> bytes:
    """Return a token with which the service itself could log in at its own web server."""
    initiator = await identity.initiator(Mechanism.SPNEGO, REPLAYS_TIMEOUT_S)
    return await initiator.step(parse_principal(service), None)


def _see_replays_are_found() -> None:
    for name, values in _REPLAYS_OFF.items():
        if (value := os.environ.get(name, "")).lower() in values:
            raise SettingError(
                name,
                value,
                "must not be set with spnego_principal: a ticket that was overheard could be used again",
            )


def _configuration(directory: str) -> Configuration:
    files = [Path(directory, name) for name in RESOURCES] if directory else []
    try:
        return Configuration.read(files, os.environ)
    except BadConfigurationError as error:
        raise SettingError("hadoop_conf_dir", directory, str(error)) from error


def _names(hadoop: Configuration, realm: str) -> AuthToLocal:
    mechanism = hadoop.get(MECHANISM_KEY) or _HADOOP
    if mechanism.lower() != _HADOOP:
        raise SettingError(MECHANISM_KEY, mechanism, f"must be {_HADOOP} with spnego_principal")
    rules = hadoop.get(RULES_KEY) or DEFAULT_RULES
    try:
        return AuthToLocal(rules, realm)
    except BadRuleError as error:
        raise SettingError(RULES_KEY, rules, str(error)) from error
