"""The log lines of a proxy that starts to serve."""

import logging
from importlib.metadata import version

from nncache.daemons.namespace_log import naming
from nncache.hadoop.glob_syntax import pitfall
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.invalidation.settings import FEED, ZOOKEEPER
from nncache.net.endpoint import ListenAddress
from nncache.proxy.settings import ProxySettings
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation

_log = logging.getLogger(__name__)


def _served_at(proxy: ProxySettings, port: int) -> str:
    """Return the addresses for clients, as text that names the address with TLS."""
    plain = str(ListenAddress(proxy.listen_at.host, port))
    return f"{plain} and with TLS on {proxy.tls_listen}" if proxy.tls_listen else plain


def say_where(federation: Federation, port: int, admin: str) -> None:
    """Log the addresses on which the proxy listens, its namespaces, and the source of their changes.

    `port` is the port for clients, `admin` the URL of the status page.
    """
    if federation.is_alone:
        _say_where(federation.of_proxy, port, admin)
    else:
        _say_where_all(federation, port, admin)


def _say_where(settings: SettingsOfProxy, port: int, admin: str) -> None:
    _log.info(
        "nncache %s serves WebHDFS on %s in front of nameservice %s (%s), as %s, channel %s",
        version("nncache"),
        _served_at(settings.proxy, port),
        settings.namenodes.nameservice,
        ", ".join(settings.namenodes.namenode_http),
        who(settings.kerberos, settings.namenodes.user),
        settings.channel_name,
    )
    _log.info("status page, health, readiness, metrics and explain on %s", admin)
    _say_changes(settings)


def _say_where_all(federation: Federation, port: int, admin: str) -> None:
    settings = federation.of_proxy
    _log.info(
        "nncache %s serves WebHDFS on %s in front of %d namespaces, as %s",
        version("nncache"),
        _served_at(settings.proxy, port),
        len(federation.settings),
        who(settings.kerberos, settings.namenodes.user),
    )
    _log.info("status page, health, readiness, metrics and explain on %s", admin)
    for name, own in federation.settings.items():
        points = federation.mounts.points
        _log.info(
            "namespace %s holds %s: nameservice %s (%s), channel %s",
            name,
            ", ".join(point for point, holder in points.items() if holder == name),
            own.namenodes.nameservice,
            ", ".join(own.namenodes.namenode_http),
            own.channel_name,
        )
        with naming(name):
            _say_changes(own)
    if federation.mounts.fallback is None:
        _log.warning(
            "no namespace is mounted at /: what lies there, and calls without a path, are answered with an error; "
            '"/" = "NAME" in [mounts] gives them to one'
        )


def _say_changes(settings: SettingsOfProxy) -> None:
    if settings.channel_name == ZOOKEEPER:
        _log.info(
            "filters and changes come from the publisher of %s in ZooKeeper, %s at %s",
            settings.namenodes.nameservice,
            settings.zookeeper.zookeeper_root,
            ", ".join(settings.zookeeper.zookeeper),
        )
    if settings.channel_name == FEED:
        _log.info(
            "changes come from the feed of a namespace in ZooKeeper, %s at %s",
            settings.feed.feed_root,
            ", ".join(settings.zookeeper.zookeeper),
        )
    warn_of_globs(settings)


def who(kerberos: KerberosSettings, user: str) -> str:
    """Return the identity with which NameNodes are called."""
    if not kerberos.has_identity:
        return f"user {user}"
    return f"Kerberos principal {kerberos.principal or f'of {kerberos.ticket_cache}'}"


def warn_of_globs(settings: SettingsOfProxy) -> None:
    """Log each glob that matches less than it seems to, and the lack of globs on a channel without filters."""
    if settings.channel_name != ZOOKEEPER and not settings.cache.glob:
        _log.warning("no --glob is given: nothing is answered from memory")
    for glob in settings.cache.glob:
        if trouble := pitfall(glob):
            _log.warning("--glob %s", trouble)
