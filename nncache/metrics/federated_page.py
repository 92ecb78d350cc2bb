"""The page at `/metrics` of a proxy in front of several namespaces.

The families are those of one namespace. What each namespace has of its own has the label `namespace`,
which has as many values as the settings file has namespaces; what the whole proxy has once is without it.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from nncache.metrics.metric import Metric
from nncache.metrics.page import Figures, family, value_of
from nncache.metrics.table import METRICS

LABEL = "namespace"
"""Empty, as if it were not there, for what is about none."""


class FederatedCollector(Collector):
    """Makes Prometheus families of the figures of several namespaces when it is scraped."""

    def __init__(self, read: Callable[[], Mapping[str, Figures]]) -> None:
        """Begin; `read` returns the figures of each namespace by its name, and those of the whole proxy by ""."""
        self._metrics = [metric for metric in METRICS if "proxy" in metric.daemons]
        self._read = read

    def collect(self) -> Iterable[Family]:
        """Return one family per row."""
        figures = self._read()
        return [_together(metric, figures) for metric in self._metrics]


def _together(metric: Metric, figures: Mapping[str, Figures]) -> Family:
    parts = {
        name: family(metric, value_of(metric, own)) for name, own in figures.items() if metric.room in own
    }
    first = next(iter(parts.values()))
    made = Family(first.name, first.documentation, first.type)
    is_of_all = parts.keys() == {""}
    for name, part in parts.items():
        for sample in part.samples:
            labels = sample.labels if is_of_all else {**sample.labels, LABEL: name}
            made.add_sample(sample.name, labels, sample.value)
    return made
