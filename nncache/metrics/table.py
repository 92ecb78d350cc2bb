"""The table of all metrics.

The rooms count in plain integers and hand out frozen `Stats` values; nothing here runs on the way of a request.
docs/metrics.md is generated from this table (`make docs`), and a test sees to it that no figure of a room is missing.
"""

from nncache.metrics.authentication_rows import AUTHENTICATION_ROWS
from nncache.metrics.dns_rows import DNS_ROWS
from nncache.metrics.event_rows import EVENT_ROWS
from nncache.metrics.metric import Metric
from nncache.metrics.proxy_rows import PROXY_ROWS
from nncache.metrics.publisher_rows import PUBLISHER_ROWS
from nncache.metrics.registry_rows import REGISTRY_ROWS
from nncache.metrics.shared_rows import SHARED_ROWS

METRICS: tuple[Metric, ...] = (
    *PROXY_ROWS,
    *EVENT_ROWS,
    *REGISTRY_ROWS,
    *AUTHENTICATION_ROWS,
    *PUBLISHER_ROWS,
    *DNS_ROWS,
    *SHARED_ROWS,
)
