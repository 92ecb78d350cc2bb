"""The registry entries of our own daemons."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nncache.registry.names import MAX_LABEL_BYTES
from nncache.registry.paths import COMPONENTS, below, service_path
from nncache.registry.record import YARN_PERSISTENCE, Endpoint, ServiceRecord, uri_endpoint
from nncache.registry.targets import METRICS_API

SERVICE: Final = "nncache"
PLACE: Final = below(service_path(SERVICE), COMPONENTS)
"""The parent of all these entries."""

WEBHDFS_API: Final = "org.apache.hadoop.webhdfs"
ADMIN_API: Final = "io.nncache.admin"

KIND: Final = "nncache:kind"
PROXY: Final = "proxy"
PUBLISHER: Final = "publisher"

_NO_LABEL: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDaemon:
    """One of our daemons, as clients reach it."""

    kind: str  # proxy or publisher
    host: str  # by which clients reach it
    port: int  # distinguishes it from others on the same host
    webhdfs: tuple[str, ...] = ()  # URLs of WebHDFS; none for a publisher
    admin: str  # URL of its admin pages
    about: Mapping[str, str] = field(default_factory=dict)  # further attributes of the record

    @property
    def path(self) -> str:
        """The path of its entry: a restart replaces the entry, and another daemon has another path."""
        end = f"-{self.port}"
        host = _NO_LABEL.sub("-", self.host.lower()).strip("-")
        begun = f"{self.kind}-{host}"[: MAX_LABEL_BYTES - len(end)].rstrip("-")
        return below(PLACE, begun + end)

    @property
    def record(self) -> ServiceRecord:
        """The service record that is bound to the path."""
        external: tuple[Endpoint, ...] = ()
        if self.webhdfs:
            external = (uri_endpoint(WEBHDFS_API, "REST", *self.webhdfs),)
        return ServiceRecord(
            description=f"nncache {self.kind} at {self.host}:{self.port}",
            external=external,
            internal=(
                uri_endpoint(ADMIN_API, "webui", self.admin),
                uri_endpoint(METRICS_API, "http", f"{self.admin.removesuffix('/')}/metrics"),
            ),
            attributes={KIND: self.kind, YARN_PERSISTENCE: "permanent", **self.about},
        )
