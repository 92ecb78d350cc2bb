"""What is checked: the settings of a proxy or of a publisher."""

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
class Subject:
    """The settings of one daemon.

    Attributes:
        settings: all of them.
        places: key -> where its value can be changed.
        mount: the first path that a proxy in front of several namespaces gives this one; of one alone the root.
    """

    settings: SettingsOfProxy | SettingsOfPublisher
    places: Mapping[str, str]
    mount: str = ROOT

    def at(self, key: str) -> str:
        """Return where a key's value can be changed: a flag, or the key in its file."""
        return self.places.get(key, key)

    @property
    def command(self) -> str:
        """The daemon's command."""
        return "proxy" if isinstance(self.settings, SettingsOfProxy) else "publisher"

    @property
    def names(self) -> NameNodeSettings:
        """The NameNodes, and the user that asks them."""
        return self.settings.namenodes

    @property
    def namenodes(self) -> tuple[NameNode, ...]:
        """The NameNodes."""
        return self.names.namenodes

    @property
    def user(self) -> str:
        """As whom they are asked where there is no Kerberos identity."""
        return self.names.user

    @property
    def kerberos(self) -> KerberosSettings:
        """The service's own Kerberos identity, if it has one."""
        return self.settings.kerberos

    @property
    def who(self) -> str:
        """As whom the NameNodes are asked, for messages."""
        kerberos = self.kerberos
        return kerberos.principal or kerberos.ticket_cache if kerberos.has_identity else self.user

    @property
    def zookeeper(self) -> ZooKeeperSettings | None:
        """Where ZooKeeper is; None if nothing goes through it."""
        return self.settings.zookeeper if self._channel == ZOOKEEPER else None

    @property
    def registers(self) -> bool:
        """Whether it is to be found in the service registry."""
        return self.settings.registration.registry

    @property
    def asked_zookeeper(self) -> ZooKeeperSettings | None:
        """Where ZooKeeper is, for the channel or for the registry; None if it is not asked at all."""
        return self.settings.zookeeper if self.registers or self._channel == FEED else self.zookeeper

    @property
    def registers_at(self) -> ListenAddress:
        """Where it listens on what its entry is named after; of the registered host, where that is another one."""
        at = self.endpoints.get("listen", self.endpoints["admin"])
        return ListenAddress(self.settings.registration.registry_host or at.host, at.port)

    @property
    def reads_edits(self) -> bool:
        """Whether it reads the NameNode's edits itself."""
        return isinstance(self.settings, SettingsOfPublisher) or self._channel == DIRECT

    def journal(self, identity: KerberosIdentity | None, web: NameNodeWeb) -> JournalAccess | None:
        """Return how it reaches JournalNodes; None if it reads none."""
        if not self.reads_edits:
            return None
        return journal_access(self.settings.edits, self.settings.namenodes, identity, web)

    @property
    def edits_dir(self) -> str:
        """The directory of a NameNode that it reads; "" if it reads none."""
        return self.settings.edits.directory if self.reads_edits else ""

    @property
    def authenticates(self) -> bool:
        """Whether it authenticates its clients itself, and acts for them."""
        return isinstance(self.settings, SettingsOfProxy) and self.settings.termination.is_on

    @property
    def own_class(self) -> tuple[str, str] | None:
        """Key and value that name a class from outside, or None."""
        key = "channel" if isinstance(self.settings, SettingsOfProxy) else "output_stream"
        return None if self._channel in {DIRECT, FEED, ZOOKEEPER} else (key, self._channel)

    @property
    def globs(self) -> tuple[str, ...] | None:
        """What may be answered from memory; None if filters say that."""
        if isinstance(self.settings, SettingsOfPublisher) or self._channel == ZOOKEEPER:
            return None
        return self.settings.cache.glob

    @property
    def endpoints(self) -> Mapping[str, ListenAddress]:
        """Where it listens, by key."""
        if isinstance(self.settings, SettingsOfPublisher):
            return {"admin": self.settings.publisher.admin_at}
        return {"listen": self.settings.proxy.listen_at, "admin": self.settings.proxy.admin_at}

    @property
    def addresses(self) -> tuple[str, ...]:
        """All servers that it asks."""
        servers = self.asked_zookeeper.zookeeper if self.asked_zookeeper is not None else ()
        return (*self.names.namenode_http, *self.names.namenode_rpc, *servers)

    @property
    def _channel(self) -> str:
        if isinstance(self.settings, SettingsOfProxy):
            return self.settings.channel_name
        return self.settings.publisher.output_stream
