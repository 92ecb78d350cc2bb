"""Build the components that authenticate clients in the proxy itself."""

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
from nncache.proxy.decide.reads import ReadAnswer, StatusRead
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
"""Timeout of one call: the first call to a NameNode that has just started takes seconds."""

UNANSWERED_S: Final = 10.0
"""Delay before the next attempt if no NameNode answered."""

REFUSED_S: Final = 60.0
"""Delay before the next attempt after a refusal, so that the log also reports when the rules are fixed."""


class ImpersonationTrial:
    """Tries a call with `doas` until a NameNode lets this service impersonate users."""

    def __init__(self, identity: KerberosIdentity, addresses: Sequence[str], web: NameNodeWeb) -> None:
        """Use this identity at these NameNodes, host:port each."""
        self._identity = identity
        self._addresses = addresses
        self._web = web

    async def run(self) -> NoReturn:
        """Run the trial. The first answer of any NameNode counts: all of them have the same rules."""
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
                except (aiohttp.ClientError, OSError, KerberosError):  # logged by other components
                    continue
                if trial is not None:
                    return trial
        return None


_log = logging.getLogger(__name__)

_HADOOP: Final = "hadoop"  # the only supported mechanism of auth_to_local
_REPLAYS_OFF: Final[Mapping[str, tuple[str, ...]]] = {
    "KRB5RCACHENAME": ("none:",),
    "KRB5RCACHETYPE": ("none",),
}
"""With these values MIT Kerberos accepts replayed tickets."""


@dataclass(frozen=True, slots=True)
class ClientsAuthentication:
    """The components that authenticate clients.

    Attributes:
        keys: the secrets that sign cookies.
        terminator: authenticates requests.
        login: the service's own login at the NameNodes.
        issued: delegation tokens that clients got.
        trial: checks that the service may impersonate clients.
        replays: checks that replayed tickets are refused.
    """

    keys: SigningKeys
    terminator: Terminator
    login: ServiceLogin
    issued: IssuedTokens
    trial: ImpersonationTrial
    replays: ReplayCheck

    async def check_replays_are_refused(self) -> None:
        """Return if replays are refused, or not checked yet: no client's ticket is accepted until the check succeeds.

        Raises:
            SettingError: replays are accepted; says what to do.
        """
        await self.replays.look()
        if self.replays.is_refuted:
            raise SettingError("spnego_principal", "given", self.replays.fault)

    def tell(self, waits: Waits[StatusRead, ReadAnswer], fast_path: FastPath) -> None:
        """Notify `waits` of each ended token, and both of each retired key: the fast path then forgets everything."""
        self.issued.on_ended.append(waits.token_ended)
        self.keys.on_retired += (fast_path.forget_all, waits.key_retired)

    @property
    def background(self) -> tuple[tuple[str, Callable[[], Awaitable[NoReturn]]], ...]:
        """Return the background tasks, each with its name."""
        return (
            ("the secrets that sign cookies", self.keys.run),
            ("the trial of hadoop.proxyuser rules", self.trial.run),
            ("the check of the replay cache", self.replays.run),
        )

    def stats(self) -> TerminationStats:
        """Return the figures since the start."""
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
    """Return the components that the settings ask for; None: the NameNodes authenticate clients.

    Args:
        wanted: whether and how clients are authenticated here.
        hadoop_conf_dir: the directory with auth_to_local and the proxy-user rules.
        namenodes: host:port of their web servers.
        identity: the service's own, at the NameNodes.
        web: how to reach these web servers.
        clock: seconds of CLOCK_BOOTTIME.
        token_believed_s: seconds for which a delegation token that a client got names its caller.

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
    _check_replay_detection()
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
    """Return a SPNEGO token with which the service could log in at its own web server."""
    initiator = await identity.initiator(Mechanism.SPNEGO, REPLAYS_TIMEOUT_S)
    return await initiator.step(parse_principal(service), None)


def _check_replay_detection() -> None:
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
