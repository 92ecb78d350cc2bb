"""A daemon's metrics page, whose figures are read at each scrape."""

import re
from datetime import UTC, datetime
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from nncache.cache.decisions import MissReason
from nncache.clock import boottime
from nncache.invalidation.stats import ChannelStats
from nncache.metrics.metric import ROOMS, Daemon
from nncache.metrics.page import MetricsPage, family
from nncache.metrics.table import METRICS
from nncache.proxy.traffic import (
    BOUNDS_S,
    GETFILESTATUS,
    OPERATION_NAMES,
    UNKNOWN_OPERATION,
    UNTIMED,
    Durations,
    Result,
    TrafficStats,
)
from tests.figures import made_up
from tests.patience import HANG_S


@pytest.mark.parametrize("daemon", get_args(Daemon))
def test_the_page_has_every_metric_of_the_daemon_and_the_process(daemon: Daemon) -> None:
    """It has no other daemon's metrics; it has the version and the process's resource usage."""
    page = MetricsPage(daemon, lambda: made_up(daemon)).render().decode()
    for metric in METRICS:
        assert (f"# TYPE {metric.name} {metric.kind}\n" in page) == (daemon in metric.daemons)
    assert re.search(rf'^nncache_info\{{daemon="{daemon}",version="\d', page, re.MULTILINE)
    assert "\nprocess_resident_memory_bytes " in page
    assert "\npython_gc_collections_total{" in page


def test_a_mapping_becomes_one_sample_for_each_of_its_keys() -> None:
    """The keys are values of the row's label."""
    page = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    assert 'nncache_cache_asked_total{reason="no-grant"} 3.0\n' in page


def test_a_text_is_the_value_of_a_label() -> None:
    """The page names the source in use and those passed over, without the reasons, which may contain user names."""
    channel = ChannelStats(source="inotify", passed_over={"journalnodes": "of wilma"})
    page = MetricsPage("proxy", lambda: made_up("proxy") | {"polling": channel}).render().decode()
    assert 'nncache_edits_source{source="inotify"} 1.0\n' in page
    assert 'nncache_edits_source_passed_over{source="journalnodes"} 1.0\n' in page
    assert "wilma" not in page
    assert "nncache_edits_source{" not in MetricsPage("proxy", lambda: made_up("proxy")).render().decode()


def test_figures_are_read_at_each_scrape_and_not_before() -> None:
    """A page that is not scraped costs nothing."""
    reads = 0

    def read() -> dict[str, object]:
        nonlocal reads
        reads += 1
        return made_up("proxy")

    page = MetricsPage("proxy", read)
    assert reads == 0
    page.render()
    page.render()
    assert reads == 2


def test_a_figure_must_be_a_number() -> None:
    """A text among a room's figures is a bug, not a zero."""
    with pytest.raises(TypeError, match="is not a number: 'x'"):
        family(METRICS[0], "x")
    labelled = next(metric for metric in METRICS if metric.values)
    samples = family(labelled, {MissReason.MISS: 1}).samples
    assert {sample.labels[labelled.labels[0]]: sample.value for sample in samples if sample.value} == {
        "miss": 1
    }
    assert {sample.labels[labelled.labels[0]] for sample in samples} == set(labelled.values)


def test_durations_are_cumulative_as_prometheus_wants_them() -> None:
    """The last bucket counts all requests."""
    page = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    assert 'nncache_request_duration_seconds_bucket{le="5e-05",result="hit"} 4.0\n' in page
    assert 'nncache_request_duration_seconds_bucket{le="0.0001",result="hit"} 5.0\n' in page
    assert 'nncache_request_duration_seconds_bucket{le="+Inf",result="hit"} 5.0\n' in page
    assert 'nncache_request_duration_seconds_count{result="hit"} 5.0\n' in page


def test_a_moment_is_unix_time() -> None:
    """Prometheus compares it with `time()`; a moment that has not come yet is 0."""
    metric = next(metric for metric in METRICS if metric.is_boot_time)
    (sample,) = family(metric, boottime()).samples
    assert abs(sample.value - datetime.now(UTC).timestamp()) < HANG_S
    assert family(metric, 0.0).samples[0].value == 0.0


def test_two_labels_make_one_sample_for_each_pair() -> None:
    """The labels are words, not Python names."""
    page = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    assert 'nncache_requests_total{operation="LISTSTATUS",result="forwarded"} 2.0\n' in page


POSSIBLE = (
    *((each, GETFILESTATUS) for each in (Result.HIT, Result.COLLAPSED, Result.STORED)),
    *((each, name) for each in (Result.FORWARDED, Result.FAILED) for name in OPERATION_NAMES),
    *((each, UNKNOWN_OPERATION) for each in UNTIMED),
)
"""The results and operations that can be counted together."""


def test_no_traffic_makes_more_than_five_hundred_series() -> None:
    """All results of all operations, all reasons and all limits at once are more than real traffic can show."""
    figures = made_up("proxy")
    durations = Durations(counts=(1,) * (len(BOUNDS_S) + 1), sum_s=1.0)
    figures["traffic"] = TrafficStats(
        requests=dict.fromkeys(POSSIBLE, 1), durations=dict.fromkeys(set(Result) - UNTIMED, durations)
    )
    page = MetricsPage("proxy", lambda: figures).render().decode()
    assert sum(not line.startswith("#") for line in page.splitlines()) <= 500


OF_PROCESS = frozenset(
    {"admin", "balancers", "loop", "request_logs", "server", "tenants", "termination", "tls"}
)


def page() -> str:
    """Return the page of a proxy with two namespaces that has refused requests outside both."""
    figures = made_up("proxy")
    of_process = {room: stats for room, stats in figures.items() if room in {*OF_PROCESS, "traffic"}}
    own = {room: stats for room, stats in figures.items() if room not in OF_PROCESS}
    return MetricsPage("proxy", lambda: of_process, lambda: {"one": own, "two": own}).render().decode()


def test_every_metric_is_there_once_for_each_namespace() -> None:
    """Each sample carries its namespace's name; process-wide metrics appear once, without it."""
    families = {each.name: each for each in text_string_to_metric_families(page())}
    alone = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    for shown in text_string_to_metric_families(alone):
        row = next((each for each in METRICS if each.name.removesuffix("_total") == shown.name), None)
        if row is None:
            continue
        assert "proxy" in ROOMS[row.room]
        samples = families[shown.name].samples
        if row.room in OF_PROCESS:
            assert [(each.name, each.labels) for each in samples] == [
                (each.name, each.labels) for each in shown.samples
            ]
            continue
        for name in ("one", "two"):
            of_it = [each for each in samples if each.labels["namespace"] == name]
            expected = [(each.name, {**each.labels, "namespace": name}, each.value) for each in shown.samples]
            moving = row.is_boot_time
            assert [(each.name, each.labels, each.value if not moving else 0) for each in of_it] == [
                (metric, labels, value if not moving else 0) for metric, labels, value in expected
            ]


def test_what_is_about_no_namespace_has_an_empty_label() -> None:
    """This lets sums include these requests."""
    (family,) = (each for each in text_string_to_metric_families(page()) if each.name == "nncache_requests")
    assert {each.labels["namespace"] for each in family.samples} == {"", "one", "two"}
