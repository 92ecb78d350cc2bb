"""The settings of each command: one form per command, one flat TOML file for all commands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from nncache.admin.settings import AdminSettings, ExplainSettings, FleetSettings
from nncache.cache.settings import CacheSettings
from nncache.coordination.settings import ZooKeeperSettings
from nncache.cors.settings import CorsSettings
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.namenode_settings import (
    MIN_PROBE_PAUSE_S,
    HadoopConfSettings,
    NameNodeSettings,
    NameNodeTlsSettings,
    NameserviceSettings,
    UserSettings,
    WebHdfsSettings,
)
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.settings import (
    DIRECT,
    FEED,
    ZOOKEEPER,
    ChannelSettings,
    EditsSettings,
    FeedSettings,
    PollingSettings,
)
from nncache.logs import LogSettings
from nncache.net.balancers.settings import BalancerSettings
from nncache.net.setting_error import SettingError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.registry.dns_settings import DnsSettings
from nncache.registry.settings import (
    ReaperSettings,
    RegistrationSettings,
    RegistrySettings,
    UpdateSettings,
)
from nncache.request_logs.settings import RequestLogSettings
from nncache.settings.forms import Form, SettingsT
from nncache.settings.hadoop_conf import from_hadoop, registry_from_hadoop, viewfs_of
from nncache.settings.keys import keys_of
from nncache.settings.namespaces import NamespaceSettings
from nncache.spnego.settings import TerminationSettings
from nncache.tenants.settings import TenantSettings
from nncache.tracing.settings import TracingSettings

_HEADINGS: Final[Mapping[Callable[[], object], str]] = {
    AdminSettings: "Access to the admin port",
    BalancerSettings: "Load balancers in front",
    CacheSettings: "Cache",
    ChannelSettings: "Invalidation channel",
    CorsSettings: "Pages of other origins",
    DnsSettings: "DNS zone",
    ExplainSettings: "Admin port of the proxy",
    EditsSettings: "Source of edits",
    FeedSettings: "Feed of a namespace in ZooKeeper",
    FilterSettings: "Filters",
    FleetSettings: "Admin ports of all proxies",
    HadoopConfSettings: "Hadoop configuration",
    KerberosSettings: "Kerberos identity",
    LimitSettings: "Limits",
    LogSettings: "Log",
    NameNodeSettings: "NameNodes",
    NameNodeTlsSettings: "TLS to the NameNodes",
    NameserviceSettings: "Nameservice",
    NamespaceSettings: "Namespace",
    PollingSettings: "Polling of the edits",
    ProxySettings: "Listeners",
    PublisherSettings: "Publishing",
    ReaperSettings: "YARN's ResourceManagers",
    RegistrationSettings: "Registration by name",
    RegistrySettings: "Service registry",
    RequestLogSettings: "Access log and audit log",
    TenantSettings: "Figures by tenant",
    TerminationSettings: "Authentication of clients by the proxy",
    TracingSettings: "Tracing",
    UpdateSettings: "Update rate",
    UserSettings: "User",
    WebHdfsSettings: "NameNodes and user",
    ZooKeeperSettings: "ZooKeeper",
}
"""The heading of each component in docs/settings.md."""


def _part(component: Callable[[], SettingsT]) -> SettingsT:
    """Return the dataclass field for a component."""
    part: Any = field(default_factory=component, metadata={"heading": _HEADINGS[component]})
    return part  # type: ignore[no-any-return] # a field stands for its value


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfProxy:
    """The settings of `nncache proxy`."""

    proxy: ProxySettings = _part(ProxySettings)
    balancers: BalancerSettings = _part(BalancerSettings)
    cors: CorsSettings = _part(CorsSettings)
    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    namespace: NamespaceSettings = _part(NamespaceSettings)
    namenodes: NameNodeSettings = _part(NameNodeSettings)
    namenode_tls: NameNodeTlsSettings = _part(NameNodeTlsSettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    termination: TerminationSettings = _part(TerminationSettings)
    cache: CacheSettings = _part(CacheSettings)
    channel: ChannelSettings = _part(ChannelSettings)
    edits: EditsSettings = _part(EditsSettings)
    feed: FeedSettings = _part(FeedSettings)
    zookeeper: ZooKeeperSettings = _part(ZooKeeperSettings)
    registration: RegistrationSettings = _part(RegistrationSettings)
    registry: RegistrySettings = _part(RegistrySettings)
    polling: PollingSettings = _part(PollingSettings)
    limits: LimitSettings = _part(LimitSettings)
    admin: AdminSettings = _part(AdminSettings)
    log: LogSettings = _part(LogSettings)
    request_logs: RequestLogSettings = _part(RequestLogSettings)
    tenants: TenantSettings = _part(TenantSettings)
    tracing: TracingSettings = _part(TracingSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        self._check_staleness()
        _check_registration(self.registration, self.registry, self.zookeeper)
        if self.termination.is_on and not self.kerberos.has_identity:
            raise SettingError(
                "spnego_principal",
                ", ".join(self.termination.spnego_principal),
                "needs principal and keytab: the proxy calls NameNodes as this principal on behalf of clients",
            )
        if self.edits.edits_source == FEED:
            raise SettingError("edits_source", FEED, f"is a publisher's; a proxy has channel = {FEED} for it")
        if self.channel_name in {FEED, ZOOKEEPER} and not self.zookeeper.zookeeper:
            raise SettingError(
                "channel", self.channel_name, "needs the servers of ZooKeeper: zookeeper, host:port of each"
            )
        if self.channel_name == ZOOKEEPER and self.cache.glob:
            raise SettingError(
                "glob",
                ", ".join(self.cache.glob),
                f"must not be given with channel {ZOOKEEPER}: the filters are kept in HDFS then "
                "(nncache filters add --name NAME --glob GLOB)",
            )

    def _check_staleness(self) -> None:
        """Refuse a staleness bound within which no change can become known."""
        steps = {"the pause between two probes of a NameNode": MIN_PROBE_PAUSE_S}
        if self.channel_name == DIRECT:
            steps["poll_interval_s"] = self.polling.poll_interval_s
        what = max(steps, key=steps.__getitem__)
        if not self.cache.max_staleness_s > steps[what]:
            raise SettingError(
                "max_staleness_s",
                self.cache.max_staleness_s,
                f"must be more than {what}, {steps[what]:g} s, or nothing is ever answered from memory; "
                "3 is the default",
            )

    @property
    def channel_name(self) -> str:
        """The channel that is set; by default zookeeper if there are servers of ZooKeeper, else direct."""
        return self.channel.channel or (ZOOKEEPER if self.zookeeper.zookeeper else DIRECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfPublisher:
    """The settings of `nncache publisher`."""

    publisher: PublisherSettings = _part(PublisherSettings)
    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    namespace: NamespaceSettings = _part(NamespaceSettings)
    namenodes: NameNodeSettings = _part(NameNodeSettings)
    namenode_tls: NameNodeTlsSettings = _part(NameNodeTlsSettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    filters: FilterSettings = _part(FilterSettings)
    edits: EditsSettings = _part(EditsSettings)
    feed: FeedSettings = _part(FeedSettings)
    zookeeper: ZooKeeperSettings = _part(ZooKeeperSettings)
    registration: RegistrationSettings = _part(RegistrationSettings)
    registry: RegistrySettings = _part(RegistrySettings)
    polling: PollingSettings = _part(PollingSettings)
    admin: AdminSettings = _part(AdminSettings)
    log: LogSettings = _part(LogSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        if self.publisher.output_stream == ZOOKEEPER or self.edits.edits_source == FEED:
            _need_zookeeper(self.zookeeper, "nncache publisher")
        _check_registration(self.registration, self.registry, self.zookeeper)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfFilters:
    """The settings of `nncache filters`."""

    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    namespace: NamespaceSettings = _part(NamespaceSettings)
    namenodes: WebHdfsSettings = _part(WebHdfsSettings)
    namenode_tls: NameNodeTlsSettings = _part(NameNodeTlsSettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    filters: FilterSettings = _part(FilterSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfWatch:
    """The settings of `nncache watch`."""

    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    namespace: NamespaceSettings = _part(NamespaceSettings)
    nameservice: NameserviceSettings = _part(NameserviceSettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    zookeeper: ZooKeeperSettings = _part(ZooKeeperSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        _need_zookeeper(self.zookeeper, "nncache watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfRegistry:
    """The settings of `nncache registry` and `proxies`."""

    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    registry: RegistrySettings = _part(RegistrySettings)
    updates: UpdateSettings = _part(UpdateSettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    zookeeper: ZooKeeperSettings = _part(ZooKeeperSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        _need_zookeeper(self.zookeeper, "nncache registry")
        _check_secure(self.registry, self.zookeeper)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfFleet(SettingsOfRegistry):
    """The settings of `nncache fleet`."""

    fleet: FleetSettings = _part(FleetSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfDns:
    """The settings of `nncache dns`."""

    hadoop_conf: HadoopConfSettings = _part(HadoopConfSettings)
    dns: DnsSettings = _part(DnsSettings)
    registry: RegistrySettings = _part(RegistrySettings)
    kerberos: KerberosSettings = _part(KerberosSettings)
    zookeeper: ZooKeeperSettings = _part(ZooKeeperSettings)
    admin: AdminSettings = _part(AdminSettings)
    log: LogSettings = _part(LogSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        _need_zookeeper(self.zookeeper, "nncache dns")
        if not self.dns.domain:
            raise SettingError("domain", "none", "must be the domain to serve, such as registry.example")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfReaper(SettingsOfRegistry):
    """The settings of `nncache registry reaper`."""

    reaper: ReaperSettings = _part(ReaperSettings)

    def __post_init__(self) -> None:
        """Check the settings against each other. A SettingError names the key to change."""
        SettingsOfRegistry.__post_init__(self)
        if not self.reaper.yarn_rm:
            raise SettingError(
                "yarn_rm", "none", "must name the ResourceManagers, such as http://rm1.example.com:8088"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfExplain:
    """The settings of `nncache explain`, `purge` and `top`."""

    proxy: ExplainSettings = _part(ExplainSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOfAudit:
    """The settings of `nncache audit`."""

    proxy: ExplainSettings = _part(ExplainSettings)
    caller: UserSettings = _part(UserSettings)


def _need_zookeeper(settings: ZooKeeperSettings, command: str) -> None:
    if not settings.zookeeper:
        raise SettingError(
            "zookeeper", "none", f"must name the servers of ZooKeeper for {command}, host:port each"
        )


def _check_registration(
    settings: RegistrationSettings, registry: RegistrySettings, zookeeper: ZooKeeperSettings
) -> None:
    """Refuse to register without a registry."""
    if settings.registry and not zookeeper.zookeeper:
        raise SettingError("registry", "true", "needs the servers of ZooKeeper: zookeeper, host:port of each")
    if settings.registry:
        _check_secure(registry, zookeeper)


def _check_secure(settings: RegistrySettings, zookeeper: ZooKeeperSettings) -> None:
    """Refuse to create entries that their creator could not change."""
    if settings.registry_secure and not zookeeper.has_identity:
        raise SettingError(
            "registry_secure",
            "true",
            "needs a login at ZooKeeper, or no one could change what is made: zookeeper_sasl or zookeeper_certificate",
        )


_OF_ALL: Final = frozenset(
    key.name
    for key in keys_of(
        (
            NamespaceSettings,
            ProxySettings,
            BalancerSettings,
            CorsSettings,
            KerberosSettings,
            TerminationSettings,
            LimitSettings,
            AdminSettings,
            LogSettings,
            RegistrationSettings,
            RegistrySettings,
            RequestLogSettings,
            TenantSettings,
            TracingSettings,
        )
    )
    if key.name != "namenode_principal"
)
"""Keys of a proxy that have one value for all its namespaces."""

PROXY = Form("proxy", SettingsOfProxy, from_hadoop, viewfs_of, _OF_ALL)
PUBLISHER = Form("publisher", SettingsOfPublisher, from_hadoop, viewfs_of, _OF_ALL)
FILTERS = Form("filters", SettingsOfFilters, from_hadoop, viewfs_of, _OF_ALL)
WATCH = Form("watch", SettingsOfWatch, from_hadoop, viewfs_of, _OF_ALL)
REGISTRY = Form("registry", SettingsOfRegistry, registry_from_hadoop)
REAPER = Form("registry reaper", SettingsOfReaper, registry_from_hadoop)
PROXIES = Form("proxies", SettingsOfRegistry, registry_from_hadoop)
FLEET = Form("fleet", SettingsOfFleet, registry_from_hadoop)
DNS = Form("dns", SettingsOfDns, registry_from_hadoop)
EXPLAIN = Form("explain", SettingsOfExplain)
PURGE = Form("purge", SettingsOfExplain)
TOP = Form("top", SettingsOfExplain)
AUDIT = Form("audit", SettingsOfAudit)

FORMS: tuple[Form[Any], ...] = (
    PROXY,
    PUBLISHER,
    FILTERS,
    WATCH,
    REGISTRY,
    REAPER,
    PROXIES,
    FLEET,
    DNS,
    EXPLAIN,
    PURGE,
    TOP,
    AUDIT,
)
"""All forms, in the order of docs/settings.md."""

KEYS = frozenset(name for form in FORMS for name in form.keys)
"""The name of every key of any command."""


def load_settings(form: Form[SettingsT], config: Path | None, flags: Mapping[str, object]) -> SettingsT:
    """Return the settings with which a command starts. `flags` holds only the flags that were given.

    Raises:
        ConfigurationError: a line for each fault, with the key, its value and the allowed values; and with the file, if
            the value is from a file.
    """
    return form.fill_in(config, flags, KEYS).settings
