"""The results of the probes, as far as the checks need them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Final

from nncache.checks.subject import CheckSubject
from nncache.coordination.acl import Acl
from nncache.hadoop.doas_trial import Trial
from nncache.hadoop.election_view import HaState, NameNode, ProbeReply
from nncache.hadoop.kerberos.advice import is_about_kdc
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.server_kind import ServerKind
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.filters.trust import Distrust
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.registry.record import ServiceRecord

MOVES_S: Final = 2.0
"""Duration of the watch of `.cache`: with its defaults a publisher writes it every half second."""


class Trouble(Enum):
    """The reason why an address has no connection, or no usable one."""

    UNRESOLVED = "cannot be resolved"
    UNREACHABLE = "cannot be reached"
    UNTRUSTED = "is not trusted"
    SLOW = "did not accept a connection in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """The server at an address.

    Attributes:
        address: host:port, as in the settings.
        hosts: the IP addresses of the host name.
        trouble: why there was no usable connection; None if there was one.
        why: the system's error message for that.
        kind: the kind of the server; None without a connection.
        name: the server's name for itself; "" without one.
        own_host: the local address of the connection, as the server sees it without NAT; "" without a connection.
    """

    address: str
    hosts: tuple[str, ...] = ()
    trouble: Trouble | None = None
    why: str = ""
    kind: ServerKind | None = None
    name: str = ""
    own_host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RootStatus:
    """The result of one GETFILESTATUS of a directory, by default the root.

    Attributes:
        status: the HTTP status; 0 without an answer.
        says: the message of an error answer, or why there was no answer.
        cache_status: the header field Cache-Status; "" without one.
        is_slow: whether there was no answer in time.
    """

    status: int = 0
    says: str = ""
    cache_status: str = ""
    is_slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeFound:
    """The answers of one NameNode at its two addresses; None, or "", if not requested or not answered.

    Attributes:
        answer: its answer over JMX to the service's user.
        silence: why there is no answer over JMX.
        named_status: HTTP status of /jmx for the service's user, without Kerberos; 0: no answer.
        anonymous_status: HTTP status of /jmx for a caller without a name; 0: no answer.
        challenge: the authentication that its web server requires, or the location to which it redirects callers.
        clock_ahead_s: seconds by which its clock is ahead of this host's.
        conf: its effective configuration.
        conf_silence: why that is unknown.
        read: the result of a read as the service's user.
        rpc_namespace: the namespace that its RPC address serves.
        rpc_state: its state over RPC.
        rpc_silence: the error of its RPC address; "" without one.
        is_another: whether its principal differs from `namenode_principal`; `rpc_silence` has both.
        groups: the groups that it finds for the service's user.
        edits_txid: the id of its last transaction, which the service's user could read; None: not read.
        edits_refusal: why they cannot be read.
        is_refused: whether permissions are the reason.
        trial: whether this service may impersonate its clients, if it must; None: unknown.
    """

    answer: ProbeReply | None = None
    silence: str = ""
    named_status: int = 0
    anonymous_status: int = 0
    challenge: str = ""
    clock_ahead_s: float | None = None
    conf: Mapping[str, str] | None = None
    conf_silence: str = ""
    read: RootStatus = field(default_factory=RootStatus)
    rpc_namespace: Namespace | None = None
    rpc_state: HaState | None = None
    rpc_silence: str = ""
    is_another: bool = False
    groups: tuple[str, ...] | None = None
    edits_txid: int | None = None
    edits_refusal: str = ""
    is_refused: bool = False
    trial: Trial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperFound:
    """The contents of ZooKeeper.

    Attributes:
        silence: why ZooKeeper, or a part of its tree, could not be read; "" if all could.
        has_root: whether `zookeeper_root` exists.
        nameservices: the nameservices published below it.
        elsewhere: paths of nameservices published below the first other roots.
        block_pool: of our nameservice; None if it is not published.
        publisher: the identity of the publisher; None if there is none or it is unknown.
        has_publisher: whether a publisher is running, even with an unknown identity.
        txid: the last transaction in `.cache`; None if there is none.
        has_moved: whether `.cache` was written while it was watched, before `txid` was read.
        filters: the filters in force.
        bad_filters: name -> why its definition cannot be parsed.
        acls: the readable ACLs of the first znodes of each kind, by path.
    """

    silence: str = ""
    has_root: bool = False
    nameservices: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    block_pool: str | None = None
    publisher: PublisherIdentity | None = None
    has_publisher: bool = False
    txid: int | None = None
    has_moved: bool = False
    filters: tuple[PublishedFilter, ...] = ()
    bad_filters: Mapping[str, str] = field(default_factory=dict)
    acls: Mapping[str, Acl] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryFound:
    """The entries of this daemon and of others in the service registry.

    Attributes:
        silence: why the registry, or a part of it, could not be read; "" if all could.
        host: the host name or address under which this daemon registers.
        hosts: its IP addresses; empty: it cannot be resolved.
        acls: the ACLs of the existing entries from the root to this daemon's own, by path.
        path: the path of this daemon's entry; "" if its port is unknown before it listens.
        at: the host:port that its record must have.
        record: the record that is bound there; None without one.
        fault: why that is not a readable record; "" if it is one, or there is none.
        others: the servers at the addresses of the first other registered daemons, by path.
    """

    silence: str = ""
    host: str = ""
    hosts: tuple[str, ...] = ()
    acls: Mapping[str, Acl] = field(default_factory=dict)
    path: str = ""
    at: str = ""
    record: ServiceRecord | None = None
    fault: str = ""
    others: Mapping[str, Contact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFound:
    """The filters in HDFS.

    Attributes:
        silence: why they could not be read; "" if they could.
        is_slow: whether the time of a check was too short to read them.
        globs: name -> glob.
        broken: name -> why it is not a valid filter.
        untrusted: name -> why the publisher does not trust it.
    """

    silence: str = ""
    is_slow: bool = False
    globs: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    untrusted: Mapping[str, Distrust] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CertificateFound:
    """A server certificate of this daemon.

    Attributes:
        fault: why it cannot be used; "" if it can.
        left_s: seconds until it expires.
    """

    fault: str = ""
    left_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFound:
    """The limits, addresses and files of this host.

    Attributes:
        limits: the fault of the limits of the process, as at the start of a proxy; "" without one.
        bound: key -> why the daemon cannot listen on its address; "" if it can.
        users: key -> the server that already listens on its address.
        token: the fault of the token file; "" without one.
        identity: the fault of the settings of the Kerberos identity, the login at ZooKeeper, or the certificate
            authorities of NameNodes; "" without one.
        login: why the Kerberos identity has no ticket; "" if it has one, or there is no identity.
        services: the fault of the keytab of `spnego_principal`, or of the secrets of cookies; "" without one.
        logs: the fault of access_log or audit_log; "" without one.
        classes: key -> the fault of the class that it names; "" without one.
        certificates: key -> the state of the certificate that it names.
        ticket_left_s: seconds until the ticket in ticket_cache expires; None without one.
    """

    limits: str = ""
    bound: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, Contact] = field(default_factory=dict)
    token: str = ""
    identity: str = ""
    login: str = ""
    services: str = ""
    logs: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    certificates: Mapping[str, CertificateFound] = field(default_factory=dict)
    ticket_left_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNodeFound:
    """The state of one JournalNode.

    Attributes:
        trouble: why it cannot be read, with the remedy; "" if it can.
        conf: its effective configuration; None if unknown.
        conf_silence: why that is unknown.
    """

    trouble: str = ""
    conf: Mapping[str, str] | None = None
    conf_silence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFacts:
    """All facts that the checks judge.

    Attributes:
        subject: the settings that are checked.
        contacts: the servers, by address.
        namenodes: the answers, by NameNode.
        zookeeper: the contents of ZooKeeper; None if it was not read.
        registry: the entries in the registry; None if it was not read.
        stored: the filters in HDFS; None if they were not read.
        host: the facts about this host.
        through: a read through the proxy that is running at `listen`; None if none is.
        journalnodes: the states, by address; None if they were not read.
        directory: why edits_dir cannot be read, "" if it can; None if it was not tried.
    """

    subject: CheckSubject
    contacts: Mapping[str, Contact] = field(default_factory=dict)
    namenodes: Mapping[NameNode, NameNodeFound] = field(default_factory=dict)
    zookeeper: ZooKeeperFound | None = None
    registry: RegistryFound | None = None
    stored: StoredFound | None = None
    host: HostFound = field(default_factory=HostFound)
    through: RootStatus | None = None
    journalnodes: Mapping[str, JournalNodeFound] | None = None
    directory: str | None = None

    @property
    def active(self) -> tuple[NameNode, ...]:
        """The NameNodes that are active by their answers over HTTP."""
        return tuple(
            namenode
            for namenode, found in self.namenodes.items()
            if found.answer is not None and found.answer.state is HaState.ACTIVE
        )

    @property
    def lacks_login(self) -> bool:
        """Whether the Kerberos identity has no ticket: then servers that require it cannot be judged."""
        return bool(self.host.login)

    def silent_kdc(self) -> str:
        """Return the error of a KDC that issued a ticket, but none for a NameNode; "" without one."""
        silences = (each for found in self.namenodes.values() for each in (found.silence, found.rpc_silence))
        return next(filter(is_about_kdc, silences), "")

    def web_wants_kerberos(self, namenode: NameNode) -> bool:
        """Tell whether a NameNode's web server requires Kerberos and this service has no identity."""
        found = self.found(namenode)
        is_asked = found.named_status == HTTPStatus.UNAUTHORIZED and "negotiate" in found.challenge.lower()
        return is_asked and not self.subject.kerberos.has_identity

    def rpc_wants_kerberos(self, namenode: NameNode) -> bool:
        """Tell whether a NameNode's RPC server requires Kerberos and this service has no identity."""
        is_asked = "SIMPLE authentication" in self.found(namenode).rpc_silence
        return is_asked and not self.subject.kerberos.has_identity

    def found(self, namenode: NameNode) -> NameNodeFound:
        """Return a NameNode's answers; empty ones if it has none."""
        return self.namenodes.get(namenode, NameNodeFound())

    def has_kind(self, address: str, *kinds: ServerKind) -> bool:
        """Tell whether a server of one of these kinds answers at an address."""
        contact = self.contacts.get(address)
        return contact is not None and contact.kind in kinds
