"""Probe the limits, addresses and files of this host.

An address is bound briefly, without listening on it, so that no client can connect.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from nncache.admin.settings import access_of, admin_certificate
from nncache.checks.contacts import STEP_S, admin_over_tls, contact, resolved
from nncache.checks.facts import CertificateFound, HostFound
from nncache.checks.subject import CheckSubject
from nncache.clock import boottime, unix_time_of_boot
from nncache.errors import StartError
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.services import fault_of_keytab, services_of
from nncache.hadoop.server_kind import ServerKind
from nncache.invalidation.publisher.output_stream import load_output_class
from nncache.invalidation.stream import load_stream_class
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.proxy.limits import check_files
from nncache.request_logs.request_logs import check_files as check_logs
from nncache.settings.commands import SettingsOfProxy
from nncache.spnego.signing_keys import SigningKeys
from nncache.tls_server.certificate import ServerCertificate

_T = TypeVar("_T")
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a server on all addresses is reached on loopback


async def look_at_host(subject: CheckSubject) -> HostFound:
    """Return the facts about this host that concern the daemon."""
    settings = subject.settings
    bound = {key: await _bind(endpoint) for key, endpoint in subject.endpoints.items()}
    taken = {key: _reached(subject.endpoints[key]) for key, why in bound.items() if why}
    found = await asyncio.gather(*(contact(address, subject.user) for address in taken.values()))
    users = dict(zip(taken, found, strict=True))
    admin = users.get("admin")
    if admin is not None and admin.kind is ServerKind.TLS and settings.admin.admin_tls_certificate:
        users["admin"] = replace(admin, kind=await admin_over_tls(admin.address) or admin.kind)
    limits = logs = ""
    if isinstance(settings, SettingsOfProxy):
        limits = await _wrong("max_connections", lambda: check_files(settings.limits, len(subject.namenodes)))
        logs = await _wrong("access_log", lambda: check_logs(settings.request_logs))
    token, classes, certificates, services = await asyncio.gather(
        _wrong("admin_token_file", lambda: access_of(settings.admin, "127.0.0.1")),
        _classes(subject),
        _certificates(subject),
        _wrong("spnego_keytab", lambda: _see_services(subject)),
    )
    return HostFound(
        limits=limits,
        bound=bound,
        users=users,
        token=token,
        logs=logs,
        classes=classes,
        certificates=certificates,
        services=services,
    )


async def _certificates(subject: CheckSubject) -> dict[str, CertificateFound]:
    settings = subject.settings
    loads: dict[str, Callable[[], ServerCertificate | None]] = {
        "admin_tls_certificate": lambda: admin_certificate(settings.admin)
    }
    if isinstance(settings, SettingsOfProxy) and (files := settings.proxy.certificate) is not None:
        loads["tls_certificate"] = lambda: ServerCertificate(files)
    found = {}
    for key, load in loads.items():
        try:
            certificate = await on_disk(key, load)
        except (SettingError, StartError) as error:
            found[key] = CertificateFound(str(error))
        else:
            if certificate is not None:
                now = boottime() + unix_time_of_boot()
                found[key] = CertificateFound(left_s=certificate.ends_at - now)
    return found


def _see_services(subject: CheckSubject) -> None:
    """Raise SettingError if the proxy authenticates its clients and cannot accept their tickets."""
    settings = subject.settings
    if not isinstance(settings, SettingsOfProxy) or not settings.termination.is_on:
        return
    SigningKeys(settings.termination.cookie_secret_file)
    principals, keytab = settings.termination.spnego_principal, settings.termination.spnego_keytab
    try:
        fault = fault_of_keytab(keytab, services_of(principals))
    except KerberosError as error:
        raise SettingError("spnego_principal", ", ".join(principals), str(error)) from error
    if fault:
        raise SettingError("spnego_keytab", keytab, fault)


async def _classes(subject: CheckSubject) -> dict[str, str]:
    if subject.own_class is None:
        return {}
    key, value = subject.own_class
    load: Callable[[str], object] = load_stream_class if key == "channel" else load_output_class
    return {key: await _wrong(key, lambda: load(value))}


async def _wrong(key: str, look: Callable[[], object]) -> str:
    """Return the fault of a setting; "" without one."""
    try:
        await on_disk(key, look)
    except SettingError as error:
        return str(error)
    return ""


async def on_disk(key: str, look: Callable[[], _T]) -> _T:
    """Run a reader of a setting's files on a daemon thread. Raises SettingError: a disk or a name server hangs."""
    try:
        async with asyncio.timeout(STEP_S):
            return await on_daemon_thread(look, key)
    except TimeoutError as error:
        raise SettingError(key, f"no answer in {STEP_S:g} s", "a disk or a name server hangs") from error


async def _bind(endpoint: ListenAddress) -> str:
    """Return why the daemon cannot listen on an address; "" if it can."""
    try:
        host, *_ = await resolved(endpoint.host, endpoint.port)
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, endpoint.port))
    except TimeoutError:
        return f"{endpoint.host} cannot be resolved in time"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _reached(endpoint: ListenAddress) -> str:
    return str(ListenAddress(_REACHED_AT.get(endpoint.host, endpoint.host), endpoint.port))
