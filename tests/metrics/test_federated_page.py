"""Metrics of several namespaces: the families of one, told apart by a label."""

from prometheus_client.parser import text_string_to_metric_families

from nncache.metrics.federated_page import FederatedCollector
from nncache.metrics.metric import ROOMS
from nncache.metrics.page import MetricsPage
from nncache.metrics.table import METRICS
from tests.figures import made_up

OF_PROCESS = frozenset({"admin", "loop", "request_logs", "server", "termination", "tls"})


def page() -> str:
    """Return the page of two namespaces, and of a proxy that has refused requests about none."""
    figures = made_up("proxy")
    of_process = {room: stats for room, stats in figures.items() if room in {*OF_PROCESS, "traffic"}}
    own = {room: stats for room, stats in figures.items() if room not in OF_PROCESS}
    return (
        MetricsPage("proxy", FederatedCollector(lambda: {"": of_process, "one": own, "two": own}))
        .render()
        .decode()
    )


def test_every_metric_is_there_once_for_each_namespace() -> None:
    """With the samples that one namespace has, each with its name; what the proxy has once is as ever."""
    families = {each.name: each for each in text_string_to_metric_families(page())}
    alone = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    for family in text_string_to_metric_families(alone):
        row = next((each for each in METRICS if each.name.removesuffix("_total") == family.name), None)
        if row is None:
            continue
        assert "proxy" in ROOMS[row.room]
        samples = families[family.name].samples
        if row.room in OF_PROCESS:
            assert [(each.name, each.labels) for each in samples] == [
                (each.name, each.labels) for each in family.samples
            ]
            continue
        for name in ("one", "two"):
            of_it = [each for each in samples if each.labels["namespace"] == name]
            expected = [
                (each.name, {**each.labels, "namespace": name}, each.value) for each in family.samples
            ]
            moving = row.is_boot_time
            assert [(each.name, each.labels, each.value if not moving else 0) for each in of_it] == [
                (metric, labels, value if not moving else 0) for metric, labels, value in expected
            ]


def test_what_is_about_no_namespace_has_an_empty_label() -> None:
    """So that sums over all requests have it."""
    (family,) = (each for each in text_string_to_metric_families(page()) if each.name == "nncache_requests")
    assert {each.labels["namespace"] for each in family.samples} == {"", "one", "two"}
