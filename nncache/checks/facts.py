"""What the probes find, as far as the checks need it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Final

from nncache.checks.subject import Subject
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
"""How long `.cache` is watched: with its defaults a publisher writes it every half second."""


class Trouble(Enum):
    """Why there is no connection to an address, or none of use."""

    UNRESOLVED = "cannot be resolved"
    UNREACHABLE = "cannot be reached"
    UNTRUSTED = "is not trusted"
    SLOW = "did not accept a connection in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """What answers at an address.

    Attributes:
        address: host:port, as in the settings.
        hosts: the addresses of the host name.
        trouble: why there was no connection; None if there was one.
        why: the system's words about that.
        kind: what answers; None without a connection.
        name: how the server calls itself; "" if it does not.
        own_host: our own address of the connection, as the server sees it without NAT; "" without one.
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
    """What came of one GETFILESTATUS of the root directory.

    Attributes:
        status: of HTTP; 0 without an answer.
        says: what the answer, or the lack of one, was about.
        cache_status: the field Cache-Status; "" without one.
        is_slow: there was none in time.
    """

    status: int = 0
    says: str = ""
    cache_status: str = ""
    is_slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeFound:
    """What one NameNode says on its two addresses; what was not asked or not answered is None, or "".

    Attributes:
        answer: what it says of itself over JMX, to the service's user.
        silence: why there is no such answer.
        named_status: HTTP status of /jmx for the service's user, without Kerberos; 0: no answer.
        anonymous_status: HTTP status of /jmx for a caller without a name; 0: no answer.
        challenge: which authentication its web server asks for, or where it sends callers.
        clock_ahead_s: seconds by which its clock is ahead of ours.
        conf: its effective configuration.
        conf_silence: why that is not known.
        read: a read as the service's user.
        rpc_namespace: the namespace that its RPC address serves.
        rpc_state: its state over RPC.
        rpc_silence: why its RPC address returned neither.
        is_another: it calls itself another principal than `namenode_principal` says; `rpc_silence` has both.
        groups: those in which it finds the service's user.
        edits_txid: the last transaction of its edits, which the service's user may read; None: not read.
        edits_refusal: why they cannot be read.
        is_refused: it is a matter of rights.
        trial: whether this service may act for others, if it has to; None: not known.
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
    """What ZooKeeper holds.

    Attributes:
        silence: why it, or a part of its tree, could not be read; "" if all could.
        has_root: `zookeeper_root` is there.
        nameservices: what is published below it.
        elsewhere: nameservices that are published below other roots, as paths; of the first ones.
        block_pool: of our nameservice; None if it is not there.
        publisher: the process that publishes; None if there is none.
        has_publisher: whether there is one, also one that does not say who it is.
        txid: the last transaction in `.cache`; None if there is none.
        has_moved: whether `.cache` was written while it was watched, before `txid` was read.
        filters: those in force.
        bad_filters: definitions that cannot be read, with the reason.
        acls: who may do what with the first znodes of each kind, by path; of those whose ACL we may see.
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
    """What the service registry holds of this daemon and of others.

    Attributes:
        silence: why it, or a part of it, could not be read; "" if all could.
        host: by which this daemon registers.
        hosts: its addresses; none: it cannot be resolved.
        acls: who may do what, by path, with those that are there of the entries from the root to this daemon's own.
        path: of this daemon's entry; "" if its port is not known before it listens.
        at: host:port that its record must have.
        record: what is bound there; None for none.
        fault: why that is no record; "" if it is one, or there is none.
        others: what answers where other daemons are registered, by path; of the first ones.
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
        is_slow: they could not be read in the time that a check has.
        globs: by name.
        broken: name -> why it is no filter.
        untrusted: name -> why the publisher does not believe it.
    """

    silence: str = ""
    is_slow: bool = False
    globs: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    untrusted: Mapping[str, Distrust] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CertificateFound:
    """A certificate with which this daemon serves.

    Attributes:
        fault: why it cannot be used; "" if it can.
        left_s: seconds until it ends.
    """

    fault: str = ""
    left_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFound:
    """What this host allows.

    Attributes:
        limits: what is wrong with the limits of the process, as at the start of a proxy; "" if nothing is.
        bound: key -> why its address cannot be listened on; "" if it can.
        users: key -> what already listens at its address.
        token: what is wrong with the token file; "" if nothing is.
        identity: what is wrong with the settings of the Kerberos identity, the login at ZooKeeper, or the authorities
            that vouch for NameNodes; "" if nothing is.
        login: why the Kerberos identity has no ticket; "" if it has one, or there is no identity.
        services: what is wrong with the keytab of `spnego_principal`; "" if nothing is.
        classes: key -> what is wrong with the class that it names.
        certificates: key -> the certificate that it names.
        ticket_left_s: seconds until the ticket in ticket_cache ends; None without one.
    """

    limits: str = ""
    bound: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, Contact] = field(default_factory=dict)
    token: str = ""
    identity: str = ""
    login: str = ""
    services: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    certificates: Mapping[str, CertificateFound] = field(default_factory=dict)
    ticket_left_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNodeFound:
    """What was found of one JournalNode.

    Attributes:
        trouble: why it cannot be read, with what to do about it; "" if it can.
        conf: its effective configuration; None while that is not known.
        conf_silence: why that is not known.
    """

    trouble: str = ""
    conf: Mapping[str, str] | None = None
    conf_silence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that was found.

    Attributes:
        subject: what is checked.
        contacts: by address.
        namenodes: by NameNode.
        zookeeper: None if nothing was asked.
        registry: what is registered; None if nothing was asked.
        stored: the filters in HDFS; None if they were not asked for.
        host: what this host allows.
        through: a read through the proxy that already runs at `listen`; None if none does.
        journalnodes: by address; None if they were not asked.
        directory: why edits_dir cannot be read, "" if it can; None if it was not looked at.
    """

    subject: Subject
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
        """The NameNodes that say over HTTP that they are active."""
        return tuple(
            namenode
            for namenode, found in self.namenodes.items()
            if found.answer is not None and found.answer.state is HaState.ACTIVE
        )

    @property
    def lacks_login(self) -> bool:
        """Whether this service has a Kerberos identity and cannot show it: what asks for it cannot be judged."""
        return bool(self.host.login)

    def silent_kdc(self) -> str:
        """Return the error of a KDC that gave a ticket, but none for a NameNode; "" where all is well."""
        silences = (each for found in self.namenodes.values() for each in (found.silence, found.rpc_silence))
        return next(filter(is_about_kdc, silences), "")

    def web_wants_kerberos(self, namenode: NameNode) -> bool:
        """Tell whether a NameNode's web server asks for Kerberos, and this service has no identity."""
        found = self.found(namenode)
        is_asked = found.named_status == HTTPStatus.UNAUTHORIZED and "negotiate" in found.challenge.lower()
        return is_asked and not self.subject.kerberos.has_identity

    def rpc_wants_kerberos(self, namenode: NameNode) -> bool:
        """Tell whether a NameNode's RPC server asks for Kerberos, and this service has no identity."""
        is_asked = "SIMPLE authentication" in self.found(namenode).rpc_silence
        return is_asked and not self.subject.kerberos.has_identity

    def found(self, namenode: NameNode) -> NameNodeFound:
        """Return what was found about a NameNode."""
        return self.namenodes.get(namenode, NameNodeFound())

    def has_kind(self, address: str, *kinds: ServerKind) -> bool:
        """Tell whether a server of one of these kinds answers there."""
        contact = self.contacts.get(address)
        return contact is not None and contact.kind in kinds
