"""Gather all facts about a daemon's environment, from independent servers concurrently."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar

import aiohttp

from nncache.checks.contacts import contact
from nncache.checks.facts import (
    CheckFacts,
    HostFound,
    JournalNodeFound,
    NameNodeFound,
    RegistryFound,
    RootStatus,
    StoredFound,
    ZooKeeperFound,
)
from nncache.checks.host_probe import look_at_host, on_disk
from nncache.checks.journalnode_probe import ask_journalnode
from nncache.checks.namenode_probe import ANSWER_S, ask_over_http, ask_over_rpc, read_status
from nncache.checks.registry_probe import ask_registry
from nncache.checks.subject import CheckSubject
from nncache.checks.zookeeper_probe import ask_zookeeper
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.sasl import login_of
from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import HadoopError, KerberosError
from nncache.hadoop.kerberos.gss import Mechanism
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.kerberos.services import services_of
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.server_kind import ServerKind
from nncache.invalidation.errors import FilterStoreError
from nncache.invalidation.filters.hdfs_reader import FilterReader
from nncache.invalidation.journal.directory import why_no_edits
from nncache.net.addresses import split_address
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.setting_error import SettingError
from nncache.settings.commands import SettingsOfProxy, SettingsOfPublisher

FIRST_S: Final = 5.0
"""Timeout to identify the servers: the steps of `contacts` one after the other."""

TICKET_S: Final = 4.0
"""Timeout for a ticket from the KDC, in the same time."""

THEN_S: Final = 5.0
"""Timeout for the servers' answers. Servers that did not answer at first get no further request."""

_WEB: Final = (ServerKind.NAMENODE_HTTP, ServerKind.LOCKED_HTTP)
_FoundT = TypeVar("_FoundT")
_Clock = Callable[[], float]


async def gather(subject: CheckSubject, clock: _Clock, tell: Callable[[str], None]) -> CheckFacts:
    """Return all facts; `tell` gets the current step, to show progress."""
    identity, login, trouble = await _identity(subject, clock)
    web, distrust = await _web(subject)
    tell("what answers at each address")
    async with asyncio.TaskGroup() as tasks:
        logging_in = tasks.create_task(_why_no_ticket(subject, identity, trouble))
        looking = tasks.create_task(_in_time(look_at_host(subject), HostFound(), FIRST_S))
        asking = [
            tasks.create_task(_in_time(contact(each, subject.user, how), None, FIRST_S))
            for each, how in _ways(subject, web).items()
        ]
    answers = [each.result() for each in asking]
    facts = CheckFacts(
        subject=subject,
        host=replace(looking.result(), identity=trouble or distrust, login=logging_in.result()),
        contacts={each.address: each for each in answers if each is not None},
    )
    tell("NameNodes, ZooKeeper, filters")
    namenodes, zookeeper, registry, stored, through = await asyncio.gather(
        _namenodes(facts, identity, web, clock),
        _in_time(_zookeeper(facts, login, clock), None, THEN_S),
        _in_time(_registry(facts, login, clock), None, THEN_S),
        _in_time(_stored(facts, identity, web), StoredFound(is_slow=True), THEN_S),
        _in_time(
            _through(facts, identity), RootStatus(says=f"no answer in {THEN_S:g} s", is_slow=True), THEN_S
        ),
    )
    host = replace(facts.host, ticket_left_s=_ticket_left_s(subject, identity, clock))
    facts = replace(facts, namenodes=namenodes)
    return replace(
        facts,
        host=host,
        journalnodes=await _journalnodes(facts, identity, web),
        directory=await _in_time(
            _directory(facts), f"{subject.edits_dir}: no answer in {THEN_S:g} s", THEN_S
        ),
        zookeeper=zookeeper,
        registry=registry,
        stored=stored,
        through=through,
    )


def _ticket_left_s(subject: CheckSubject, identity: KerberosIdentity | None, clock: _Clock) -> float | None:
    """Return the seconds until another program's ticket expires; None for a keytab, whose tickets are renewed here."""
    if identity is None or not subject.kerberos.ticket_cache or not identity.stats().ends_at:
        return None
    return identity.stats().ends_at - clock()


async def _why_no_ticket(subject: CheckSubject, identity: KerberosIdentity | None, trouble: str) -> str:
    """Log in. Return the error; "" if the login succeeds or there is no identity."""
    if identity is None:
        return trouble if subject.kerberos.has_identity else ""
    try:
        await identity.initiator(Mechanism.KERBEROS, TICKET_S)
    except KerberosError as error:
        return str(error)
    return ""


async def _identity(
    subject: CheckSubject, clock: _Clock
) -> tuple[KerberosIdentity | None, ZooKeeperLogin | None, str]:
    """Return the identity for NameNodes, the login for ZooKeeper, and the fault of either; "" without one."""
    identity: KerberosIdentity | None = None
    try:
        identity = await on_disk("keytab", partial(identity_of, subject.kerberos, clock))
        asked = subject.asked_zookeeper
        login = None if asked is None else await on_disk("zookeeper_ca", partial(login_of, asked, identity))
    except SettingError as error:
        return identity, None, str(error)
    return identity, login, ""


async def _web(subject: CheckSubject) -> tuple[NameNodeWeb, str]:
    """Return the access to NameNodes' web servers, and the fault of their certificate authorities; "" without one."""
    try:
        return await on_disk("namenode_ca", partial(NameNodeWeb, subject.settings.namenode_tls)), ""
    except SettingError as error:
        return NameNodeWeb(replace(subject.settings.namenode_tls, namenode_ca="")), str(error)


def _ways(subject: CheckSubject, web: NameNodeWeb) -> Mapping[str, NameNodeWeb]:
    """Return the access to each server, by address."""
    return dict.fromkeys(subject.addresses, PLAIN) | dict.fromkeys(subject.names.namenode_http, web)


async def _in_time(found: Awaitable[_FoundT], otherwise: _FoundT, seconds: float) -> _FoundT:
    try:
        async with asyncio.timeout(seconds):
            return await found
    except TimeoutError:
        return otherwise


async def _namenodes(
    facts: CheckFacts, identity: KerberosIdentity | None, web: NameNodeWeb, clock: _Clock
) -> Mapping[NameNode, NameNodeFound]:
    if facts.lacks_login:
        return {}
    each = facts.subject.namenodes
    found = await asyncio.gather(
        *(
            _in_time(
                _namenode(facts, one, identity, web, clock),
                NameNodeFound(silence=f"no answer in {THEN_S:g} s"),
                THEN_S,
            )
            for one in each
        )
    )
    return {
        one: what
        for one, what in zip(each, found, strict=True)
        if facts.has_kind(one.http, *_WEB) or facts.has_kind(one.rpc, ServerKind.HADOOP_RPC)
    }


async def _journalnodes(
    facts: CheckFacts, identity: KerberosIdentity | None, web: NameNodeWeb
) -> Mapping[str, JournalNodeFound] | None:
    """Return the states of the JournalNodes; None if none is read, or no NameNode tells its namespace."""
    access = facts.subject.journal(identity, web)
    if access is None or facts.lacks_login or not facts.active:
        return None
    namenode = facts.active[0]
    answer = facts.found(namenode).answer
    if answer is None or answer.namespace is None:
        return None
    rpc = NameNodeRpc(namenode.rpc, facts.subject.user, timeout_s=ANSWER_S, identity=identity)
    try:
        storage = await rpc.namespace_id(), answer.namespace.cluster_id
    except HadoopError:
        return None
    finally:
        await rpc.close()
    addresses = access.journal.addresses
    silent = JournalNodeFound(trouble=f"no answer in {THEN_S:g} s")
    asked = (_in_time(ask_journalnode(access, each, storage), silent, THEN_S) for each in addresses)
    return dict(zip(addresses, await asyncio.gather(*asked), strict=True))


async def _directory(facts: CheckFacts) -> str | None:
    """Return why the NameNode's directory cannot be read; None if none is read, or no NameNode tells its namespace."""
    if not facts.subject.edits_dir or not facts.active:
        return None
    answer = facts.found(facts.active[0]).answer
    if answer is None or answer.namespace is None:
        return None
    look = partial(why_no_edits, Path(facts.subject.edits_dir), answer.namespace)
    return str(await on_daemon_thread(look, "edits_dir") or "")


async def _namenode(
    facts: CheckFacts, namenode: NameNode, identity: KerberosIdentity | None, web: NameNodeWeb, clock: _Clock
) -> NameNodeFound:
    subject = facts.subject
    over_http = over_rpc = NameNodeFound()
    async with asyncio.TaskGroup() as tasks:
        asked = asked_rpc = None
        if facts.has_kind(namenode.http, *_WEB):
            asked = tasks.create_task(
                ask_over_http(
                    *(namenode, subject.user, clock, identity, web), acts_for_others=subject.authenticates
                )
            )
        if facts.has_kind(namenode.rpc, ServerKind.HADOOP_RPC):
            asked_rpc = tasks.create_task(
                ask_over_rpc(namenode, subject.user, identity, reads_edits=subject.reads_edits)
            )
    over_http = asked.result() if asked is not None else over_http
    over_rpc = asked_rpc.result() if asked_rpc is not None else over_rpc
    return replace(
        over_http,
        rpc_namespace=over_rpc.rpc_namespace,
        rpc_state=over_rpc.rpc_state,
        rpc_silence=over_rpc.rpc_silence,
        is_another=over_rpc.is_another,
        groups=over_rpc.groups,
        edits_txid=over_rpc.edits_txid,
        edits_refusal=over_rpc.edits_refusal,
        is_refused=over_rpc.is_refused,
    )


async def _zookeeper(facts: CheckFacts, login: ZooKeeperLogin | None, clock: _Clock) -> ZooKeeperFound | None:
    settings = facts.subject.zookeeper
    servers = _servers(facts, settings)
    if settings is None or not servers:
        return None
    return await ask_zookeeper(settings, servers, facts.subject.names.nameservice, clock, login)


async def _registry(facts: CheckFacts, login: ZooKeeperLogin | None, clock: _Clock) -> RegistryFound | None:
    """Read the registry, if this daemon registers."""
    servers = _servers(facts, facts.subject.asked_zookeeper)
    if not facts.subject.registers or not servers:
        return None
    return await ask_registry(facts.subject, servers, clock, login)


def _servers(facts: CheckFacts, settings: ZooKeeperSettings | None) -> list[str]:
    """Return the ZooKeeper servers that answer; none if the login is impossible."""
    if (
        settings is None
        or facts.host.identity
        or (facts.lacks_login and settings.zookeeper_sasl == "kerberos")
    ):
        return []
    kind = ServerKind.TLS if settings.zookeeper_tls else ServerKind.ZOOKEEPER
    return [each for each in settings.zookeeper if facts.has_kind(each, kind)]


async def _stored(
    facts: CheckFacts, identity: KerberosIdentity | None, web: NameNodeWeb
) -> StoredFound | None:
    """Read the filters in HDFS, if this is a publisher."""
    settings = facts.subject.settings
    reachable = [each for each in facts.subject.names.namenode_http if facts.has_kind(each, *_WEB)]
    if not isinstance(settings, SettingsOfPublisher) or not reachable or facts.lacks_login:
        return None
    first, *others = map(web.url, reachable)
    user = facts.subject.user
    async with WebHdfs(first, user, others=others, timeout_s=ANSWER_S, identity=identity, web=web) as hdfs:
        try:
            own_user = settings.kerberos.acts_as(settings.namenodes.user)
            stored = await FilterReader(hdfs, settings.filters.filters_path, own_user=own_user).read_all()
        except FilterStoreError as error:
            return StoredFound(silence=str(error))
    globs = {name: each.path_glob for name, each in stored.filters.items()}
    return StoredFound(globs=globs, broken=stored.broken, untrusted=stored.untrusted)


async def _through(facts: CheckFacts, identity: KerberosIdentity | None) -> RootStatus | None:
    """Read through the proxy that is running at `listen`, if there is one."""
    running, subject = facts.host.users.get("listen"), facts.subject
    if running is None or running.kind is not ServerKind.PROXY or facts.lacks_login:
        return None
    async with aiohttp.ClientSession(trust_env=False) as session:
        if identity is None:
            return await read_status(session, running.address, subject.user, path=subject.mount)
        read = RootStatus()
        for host in _who_judges(subject):
            try:
                field = (await identity.negotiation(host, ANSWER_S)).field
            except KerberosError as error:
                read = RootStatus(says=str(error))
                continue
            read = await read_status(
                session, running.address, subject.user, path=subject.mount, authorization=field
            )
            if read.status != HTTPStatus.UNAUTHORIZED:
                break
        return read


def _who_judges(subject: CheckSubject) -> tuple[str, ...]:
    """Return the hosts for whose HTTP/HOST principals the ticket that the proxy gets may be.

    They are the proxy's own names, if it authenticates. Otherwise it forwards the ticket to the active NameNode,
    which is not known yet.
    """
    settings = subject.settings
    if isinstance(settings, SettingsOfProxy) and settings.termination.is_on:
        hosts = (each.host for each in services_of(settings.termination.spnego_principal))
    else:
        hosts = (split_address(each)[0] for each in subject.names.namenode_http)
    return tuple(dict.fromkeys(hosts))
