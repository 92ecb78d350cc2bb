"""The entries that daemons register, and the registry that a proxy serves."""

from collections.abc import Sequence
from importlib.metadata import version
from urllib.parse import urlsplit

from nncache.daemons.registry_source import ZooKeeperRegistry
from nncache.proxy.clients.request import Handler
from nncache.proxy.clients.server import Server
from nncache.proxy.traffic import Traffic
from nncache.registry.daemon_record import PROXY, PUBLISHER, RegisteredDaemon
from nncache.registry.follower import RegistryFollower
from nncache.registry.registration import Registration, url_of
from nncache.registry.rest.endpoint import RegistryEndpoint
from nncache.registry.settings import reached_at
from nncache.settings.commands import SettingsOfProxy, SettingsOfPublisher

_WEBHDFS = "/webhdfs/v1"


class ServedRegistry:
    """Serves the registry on a registered proxy. `endpoint.run` must run in the background."""

    def __init__(self, registration: Registration, settings: SettingsOfProxy) -> None:
        """Prepare the source. `before` makes the endpoint."""
        follower = RegistryFollower(registration.session, registration.root)
        self._source = ZooKeeperRegistry(registration.registry, follower)
        self._settings = settings
        self._endpoint: RegistryEndpoint | None = None

    def before(self, traffic: Traffic, others: Handler) -> Handler:
        """Return a handler that answers and counts requests about the registry, and passes others to `others`."""
        self._endpoint = RegistryEndpoint(
            self._source, traffic, self._settings.limits, max_wait_s=self._settings.proxy.max_wait_s
        )
        return self._endpoint.before(others)

    @property
    def endpoint(self) -> RegistryEndpoint:
        """The endpoint that answers these requests; `before` must have been called."""
        assert self._endpoint is not None, "nothing was put behind it"
        return self._endpoint


def proxy_daemon(
    settings: SettingsOfProxy, nameservices: Sequence[str], server: Server, admin_url: str
) -> RegisteredDaemon:
    """Return the addresses of a listening proxy in front of these nameservices, for its entry in the registry."""
    own = settings.registration.registry_host
    host = reached_at(own, settings.proxy.listen_at.host)
    urls = [url_of("http", host, server.port, _WEBHDFS)]
    if server.tls is not None and settings.proxy.tls_listen_at is not None:
        tls_host = reached_at(own, settings.proxy.tls_listen_at.host)
        urls.append(url_of("https", tls_host, server.tls.port, _WEBHDFS))
    return RegisteredDaemon(
        kind=PROXY,
        host=host,
        port=server.port,
        webhdfs=tuple(urls),
        admin=_reached(own, admin_url),
        about=_about(",".join(nameservices)),
    )


def publisher_daemon(settings: SettingsOfPublisher, admin_url: str) -> RegisteredDaemon:
    """Return the address of a publisher whose pages listen, for its entry in the registry."""
    admin = _reached(settings.registration.registry_host, admin_url)
    parts = urlsplit(admin)
    return RegisteredDaemon(
        kind=PUBLISHER,
        host=parts.hostname or "",
        port=parts.port or 0,
        admin=admin,
        about=_about(settings.namenodes.nameservice),
    )


def _reached(own: str, url: str) -> str:
    parts = urlsplit(url)
    listens_on = parts.hostname or ""
    host = reached_at(own, listens_on)
    return url_of(parts.scheme, host, parts.port or 0)


def _about(nameservice: str) -> dict[str, str]:
    return {
        "nncache:version": version("nncache"),
        **({"nncache:nameservice": nameservice} if nameservice else {}),
    }
