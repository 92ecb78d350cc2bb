"""An expression can name only what is in the table of metrics."""

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from tools.dashboards.promql import PROCESS, TARGETS, of, quantile, rate, total


def test_a_selector_is_of_the_chosen_targets() -> None:
    """Its own labels come first; several words are a regular expression."""
    assert of("nncache_cache_gate_open") == f"nncache_cache_gate_open{{{TARGETS}}}"
    assert (
        of("nncache_forwarded_total", reason="miss") == f'nncache_forwarded_total{{reason="miss", {TARGETS}}}'
    )
    assert 'result=~"hit|failed"' in of("nncache_requests_total", result="hit|failed")


def test_sums_and_quantiles() -> None:
    """`le` is one of the labels that a histogram is summed by."""
    assert total("x") == "sum(x)"
    assert total("x", "a", "b") == "sum by (a, b) (x)"
    assert (
        rate("nncache_stream_opened_total")
        == f"rate(nncache_stream_opened_total{{{TARGETS}}}[$__rate_interval])"
    )
    name = "nncache_request_duration_seconds"
    assert quantile(0.99, name, "result") == (
        f"histogram_quantile(0.99, sum by (le, result) (rate({name}_bucket{{{TARGETS}}}[$__rate_interval])))"
    )


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: of("nncache_gone"), "no nncache_gone"),
        (lambda: of("nncache_forwarded_total", result="hit"), "no label result"),
        (lambda: of("nncache_forwarded_total", reason="bad"), "never 'bad'"),
        (lambda: rate("nncache_cache_entries"), "no counter"),
        (lambda: quantile(0.5, "nncache_requests_total"), "no histogram"),
    ],
)
def test_what_is_not_there_is_refused(make: object, fault: str) -> None:
    """When the dashboards are made, not when a panel stays empty."""
    assert callable(make)
    with pytest.raises(ValueError, match=fault):
        make()


def test_the_figures_of_the_process_are_there() -> None:
    """By the names that prometheus_client gives to them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    assert {sample.name for family in registry.collect() for sample in family.samples} >= PROCESS
