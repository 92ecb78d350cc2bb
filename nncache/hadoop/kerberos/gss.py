"""GSS-API calls. No other module imports PyPI's gssapi.

gssapi is imported on first use, since only secured clusters need it. All calls block. A call to the KDC blocks for up
to 50 s if the KDC does not answer, so it runs in `nncache.hadoop.kerberos.threads`.
Pitfalls of gssapi 1.12 with MIT krb5 1.20 (measured): a Credentials object keeps its first ticket, so each new ticket
needs a new object; `step` may return after a refusal, and the error is raised on the next use of the context.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, Final

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.advice import with_advice
from nncache.hadoop.kerberos.principal import Principal

TO_INSTALL: Final = (
    "Kerberos needs PyPI's gssapi: pip install '.[kerberos]' in nncache's source, which on Debian needs "
    "apt-get install gcc python3-dev libkrb5-dev krb5-user"
)

_SPNEGO: Final = "1.3.6.1.5.5.2"  # RFC 4178


_NO_CACHE: Final = "No credentials cache found"
"""MIT krb5 also says this if a keytab has no key of the principal, or is invalid."""


class _NoKeyError(KerberosError):
    """There is neither a ticket nor a key."""


class Mechanism(Enum):
    """How a GSS context is negotiated."""

    KERBEROS = "kerberos"  # for Hadoop RPC and ZooKeeper
    SPNEGO = "spnego"  # for HTTP


@dataclass(frozen=True, slots=True)
class KerberosTicket:
    """A ticket of a principal."""

    credentials: object  # gssapi's own object, which initiates contexts
    lifetime_s: float  # seconds until it expires; 0 if it has expired


def check_installed() -> None:
    """Raise KerberosError, which says what to install, if gssapi cannot be imported."""
    _gssapi()


def ticket_from_keytab(principal: Principal, keytab: str, cache: str) -> KerberosTicket:
    """Get a ticket from the KDC with the key in a keytab, and store it in this credential cache.

    Raises KerberosError: there is no ticket; says what to do.
    """
    try:
        return _ticket(principal, {"client_keytab": keytab, "ccache": cache})
    except _NoKeyError as exc:
        raise KerberosError(
            f"no Kerberos ticket for {principal}: the keytab {keytab} holds no key of it (klist -kt {keytab} shows "
            "which it has): set principal to one of those, or export the keytab again"
        ) from exc


def ticket_from_cache(principal: Principal | None, cache: str) -> KerberosTicket:
    """Return the ticket in a credential cache. Raises KerberosError: the cache has no ticket; says what to do."""
    return _ticket(principal, {"ccache": cache})


def _ticket(principal: Principal | None, store: dict[str, str]) -> KerberosTicket:
    gssapi = _gssapi()
    with _explained(f"no Kerberos ticket for {principal or 'the ticket cache'}"):
        name = None
        if principal is not None:
            name = gssapi.Name(str(principal), gssapi.NameType.kerberos_principal)
        mechanisms = [_mechanism(gssapi, each) for each in Mechanism]
        made = gssapi.Credentials(name=name, usage="initiate", mechs=mechanisms, store=store)
        return KerberosTicket(made, float(made.lifetime or 0))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The client of a valid ticket for this service."""

    initiator: str  # the client's principal, with its realm
    service: str  # the principal that the ticket was issued for
    reply: bytes  # the token that proves the service's identity to the client


@dataclass(frozen=True, slots=True)
class RefusedToken:
    """A token that proves no identity; `why` is for logs."""

    why: str


def accept(token: bytes, keytab: str) -> Accepted | RefusedToken:
    """Verify a client's token (SPNEGO or plain Kerberos) with any key of the keytab, which is read each time.

    A token that needs a second step, or is a replay, is refused. The caller must check `Accepted.service`.

    Raises KerberosError: gssapi is not installed.
    """
    gssapi = _gssapi()
    error = gssapi.exceptions.GSSError
    try:
        credentials = gssapi.Credentials(usage="accept", store={"keytab": keytab})
        context = gssapi.SecurityContext(creds=credentials, usage="accept")
        reply = context.step(token)
        if not context.complete:  # raises an error that `step` may have deferred
            return RefusedToken("it does not say at once who is there")
        initiator, service = str(context.initiator_name), str(context.target_name)
    except error as exc:
        return RefusedToken(_message_of(exc))
    return Accepted(initiator, service, bytes(reply or b""))


def check_key(service: Principal, keytab: str) -> None:
    """Return if the keytab holds a key of this principal. Makes no call to the KDC.

    Raises KerberosError: it holds none, or the file is not a keytab.
    """
    gssapi = _gssapi()
    try:
        name = gssapi.Name(str(service), gssapi.NameType.kerberos_principal)
        gssapi.Credentials(name=name, usage="accept", store={"keytab": keytab})
    except gssapi.exceptions.GSSError as exc:
        raise KerberosError(_message_of(exc)) from None


class GssContext:
    """The initiator's side of one negotiation with one server. Only `step` may call the KDC."""

    def __init__(self, ticket: KerberosTicket, mechanism: Mechanism) -> None:
        self._ticket = ticket
        self._mechanism = mechanism
        self._context: Any = None  # created by the first step, which names the server

    @property
    def is_complete(self) -> bool:
        """Whether both sides have proven their identity."""
        return self._context is not None and bool(self._context.complete)

    def step(self, server: Principal, challenge: bytes | None) -> bytes:
        """Return the next token for this server; empty if it needs none. `challenge` is the server's last token.

        Raises KerberosError: the KDC gives no ticket for the server, or the server's token is invalid.
        """
        gssapi = _gssapi()
        with _explained(f"no Kerberos context with {server}"):
            if self._context is None:
                flag = gssapi.RequirementFlag
                self._context = gssapi.SecurityContext(
                    name=_server_name(gssapi, server),
                    creds=self._ticket.credentials,
                    usage="initiate",
                    mech=_mechanism(gssapi, self._mechanism),
                    flags=[
                        flag.mutual_authentication,
                        flag.integrity,
                        flag.confidentiality,
                        flag.replay_detection,
                        flag.out_of_sequence_detection,
                    ],
                )
            token = self._context.step(challenge)
            _ = self._context.complete  # raises an error that `step` may have deferred
            return bytes(token or b"")

    def wrap(self, data: bytes, *, encrypts: bool) -> bytes:
        """Return the data with a checksum, and encrypted if `encrypts`."""
        with _explained("the Kerberos context cannot protect data"):
            wrapped = self._context.wrap(data, encrypts)
            if encrypts and not wrapped.encrypted:
                raise KerberosError("the Kerberos context does not encrypt, and the server asks for it")
            return bytes(wrapped.message)

    def unwrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        """Return the data that the server wrapped.

        Raises KerberosError: it is not from that server, or out of order, or not encrypted although it must be.
        """
        with _explained("the Kerberos context does not accept what the server sent"):
            unwrapped = self._context.unwrap(data)
            if is_encrypted and not unwrapped.encrypted:
                raise KerberosError("the server sends what is not encrypted, and privacy was agreed upon")
            return bytes(unwrapped.message)


def _server_name(gssapi: ModuleType, server: Principal) -> object:
    if server.realm:
        return gssapi.Name(str(server), gssapi.NameType.kerberos_principal)
    return gssapi.Name(f"{server.service}@{server.host}", gssapi.NameType.hostbased_service)


def _mechanism(gssapi: ModuleType, mechanism: Mechanism) -> object:
    if mechanism is Mechanism.KERBEROS:
        return gssapi.MechType.kerberos
    return gssapi.OID.from_int_seq(_SPNEGO)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Raise KerberosError for an error of GSS-API: it says what failed and what to do."""
    try:
        yield
    except _gssapi().exceptions.GSSError as exc:
        message = _message_of(exc)
        kind = _NoKeyError if message == _NO_CACHE else KerberosError
        raise kind(f"{what}: {with_advice(message)}") from None


def _message_of(exc: Any) -> str:  # noqa: ANN401 - gssapi.exceptions.GSSError, which has no types
    """Return the mechanism's message; the general one is "Unspecified GSS failure" for nearly every error."""
    silence = {"Success", "Unknown error"}
    words = [text for text in exc.get_all_statuses(exc.min_code, is_maj=False) if text not in silence]
    return ", ".join(filter(None, words)) or ", ".join(exc.get_all_statuses(exc.maj_code, is_maj=True))


def _gssapi() -> ModuleType:
    try:
        return importlib.import_module("gssapi")
    except ImportError as exc:
        raise KerberosError(f"{TO_INSTALL} ({exc})") from exc
