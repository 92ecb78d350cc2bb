"""The subject of the checks: the settings of a proxy or of a publisher."""

from collections.abc import Mapping
from dataclasses import dataclass

from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.paths import ROOT
from nncache.invalidation.journal.access import JournalAccess, journal_access
from nncache.invalidation.settings import DIRECT, FEED, ZOOKEEPER
from nncache.net.endpoint import ListenAddress
from nncache.settings.commands import SettingsOfProxy, SettingsOfPublisher


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """The settings of one daemon.

    Attributes:
        settings: all settings.
        places: key -> where its value can be changed.
        mount: the first path at which a proxy of several namespaces mounts this one; with one namespace the root.
    """

    settings: SettingsOfProxy | SettingsOfPublisher
    places: Mapping[str, str]
    mount: str = ROOT

    def at(self, key: str) -> str:
        """Return where a key's value can be changed: a flag, or the key in its file."""
        return self.places.get(key, key)

    @property
    def command(self) -> str:
        """The daemon's command: "proxy" or "publisher"."""
        return "proxy" if isinstance(self.settings, SettingsOfProxy) else "publisher"

    @property
    def names(self) -> NameNodeSettings:
        """The settings of the NameNodes, and of the user that calls them."""
        return self.settings.namenodes

    @property
    def namenodes(self) -> tuple[NameNode, ...]:
        """The NameNodes."""
        return self.names.namenodes

    @property
    def user(self) -> str:
        """The user that calls the NameNodes if there is no Kerberos identity."""
        return self.names.user

    @property
    def kerberos(self) -> KerberosSettings:
        """The service's own Kerberos identity, if it has one."""
        return self.settings.kerberos

    @property
    def who(self) -> str:
        """The name, for messages, of the identity or user that calls the NameNodes."""
        kerberos = self.kerberos
        return kerberos.principal or kerberos.ticket_cache if kerberos.has_identity else self.user

    @property
    def zookeeper(self) -> ZooKeeperSettings | None:
        """The settings of ZooKeeper; None if the channel does not use it."""
        return self.settings.zookeeper if self._channel == ZOOKEEPER else None

    @property
    def registers(self) -> bool:
        """Whether the daemon registers in the service registry."""
        return self.settings.registration.registry

    @property
    def asked_zookeeper(self) -> ZooKeeperSettings | None:
        """The settings of ZooKeeper, for the channel or for the registry; None if it is not used at all."""
        return self.settings.zookeeper if self.registers or self._channel == FEED else self.zookeeper

    @property
    def registers_at(self) -> ListenAddress:
        """The address by which its entry is named: the registered host, by default its own, and its port."""
        at = self.endpoints.get("listen", self.endpoints["admin"])
        return ListenAddress(self.settings.registration.registry_host or at.host, at.port)

    @property
    def reads_edits(self) -> bool:
        """Whether the daemon reads the NameNode's edits itself."""
        return isinstance(self.settings, SettingsOfPublisher) or self._channel == DIRECT

    def journal(self, identity: KerberosIdentity | None, web: NameNodeWeb) -> JournalAccess | None:
        """Return the access to JournalNodes; None if the daemon reads none."""
        if not self.reads_edits:
            return None
        return journal_access(self.settings.edits, self.settings.namenodes, identity, web)

    @property
    def edits_dir(self) -> str:
        """The directory of a NameNode that the daemon reads; "" if it reads none."""
        return self.settings.edits.directory if self.reads_edits else ""

    @property
    def authenticates(self) -> bool:
        """Whether the daemon authenticates its clients itself, and impersonates them."""
        return isinstance(self.settings, SettingsOfProxy) and self.settings.termination.is_on

    @property
    def own_class(self) -> tuple[str, str] | None:
        """Key and value that name a class outside nncache, or None."""
        key = "channel" if isinstance(self.settings, SettingsOfProxy) else "output_stream"
        return None if self._channel in {DIRECT, FEED, ZOOKEEPER} else (key, self._channel)

    @property
    def globs(self) -> tuple[str, ...] | None:
        """The globs of paths that may be answered from memory; None if filters select them."""
        if isinstance(self.settings, SettingsOfPublisher) or self._channel == ZOOKEEPER:
            return None
        return self.settings.cache.glob

    @property
    def endpoints(self) -> Mapping[str, ListenAddress]:
        """The addresses on which the daemon listens, by key."""
        if isinstance(self.settings, SettingsOfPublisher):
            return {"admin": self.settings.publisher.admin_at}
        proxy = self.settings.proxy
        tls = {} if proxy.tls_listen_at is None else {"tls_listen": proxy.tls_listen_at}
        return {"listen": proxy.listen_at, **tls, "admin": proxy.admin_at}

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all servers that the daemon calls."""
        servers = self.asked_zookeeper.zookeeper if self.asked_zookeeper is not None else ()
        return (*self.names.namenode_http, *self.names.namenode_rpc, *servers)

    @property
    def _channel(self) -> str:
        if isinstance(self.settings, SettingsOfProxy):
            return self.settings.channel_name
        return self.settings.publisher.output_stream
