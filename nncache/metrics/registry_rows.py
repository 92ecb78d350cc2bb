"""What a proxy serves of the service registry, and whether a daemon is in it."""

from nncache.metrics.metric import Metric, counter, gauge
from nncache.proxy.registry_endpoint import REGISTRY_ANSWERS
from nncache.proxy.wait_groups import WAIT_ENDS

REGISTRY_ROWS: tuple[Metric, ...] = (
    # ---- proxy: GET /v1/registry
    counter(
        "registry.answers",
        "registry_requests",
        "requests",
        "Requests for `GET /v1/registry`, by what they were answered.",
        "answer",
        REGISTRY_ANSWERS,
    ),
    gauge(
        "registry.waiters", "registry_waiters", "requests", "Requests held until what they ask for changes."
    ),
    counter(
        "registry.waits",
        "registry_waits",
        "requests",
        "Requests about the registry that were held, by how their wait ended.",
        "end",
        WAIT_ENDS,
    ),
    counter(
        "registry.waits_not_admitted",
        "registry_waits_not_admitted",
        "requests",
        "Requests with `Prefer: wait` answered at once, since too many were held.",
    ),
    gauge(
        "registry.entries_followed",
        "registry_entries_followed",
        "entries",
        "Entries watched in ZooKeeper; 0 until the first request waits.",
    ),
    counter(
        "registry.gaps",
        "registry_gaps",
        "gaps",
        "Connections to ZooKeeper lost, after which all entries were read again.",
    ),
    # ---- both daemons: their own entry
    gauge(
        "registration.is_wanted",
        "registration_wanted",
        "0 or 1",
        "Whether the daemon is to be in the service registry: registry = true, and it is not stopping.",
    ),
    gauge(
        "registration.is_registered",
        "registered",
        "0 or 1",
        "Whether the daemon's entry was in the service registry when it was last looked for.",
    ),
    gauge(
        "registration.is_connected",
        "registration_zookeeper_connected",
        "0 or 1",
        "Whether the session with ZooKeeper that holds the registry has a connection.",
    ),
    counter(
        "registration.failures",
        "registration_failures",
        "attempts",
        "Attempts to register, or to look for the entry, that failed.",
    ),
)
