"""Tests mirror modules: whoever looks for one finds the other by its name."""

from pathlib import Path

from tests.house.tree import ROOMS, ROOT, acts, shown, sources

TESTED_ELSEWHERE: dict[str, str] = {
    "bench/figures.py": "tests/bench/judge/test_reduction.py",
    "bench/run.py": "tests/bench/test_run_pollers.py",
    "bench/servers/nncache.py": "tests/bench/test_driving.py",
    "bench/servers/haproxy.py": "tests/bench/request_cost/test_floor.py",
    "bench/servers/running.py": "tests/bench/servers/test_nginx.py",
    "coordination/errors.py": "tests/coordination/test_translation.py",
    "hadoop/settings.py": "tests/nncache/test_cli.py",
    "nncache/checks/facts.py": "tests/nncache/checks/test_about_namenodes.py",
    "nncache/checks/finding.py": "tests/nncache/checks/test_table.py",
    "nncache/checks/gathering.py": "tests/nncache/commands/test_check.py",
    "nncache/commands/check_wiring.py": "tests/nncache/commands/test_check.py",
    "bench/inotify/delivery.py": "tests/bench/inotify/test_command.py",
    "bench/inotify/following.py": "tests/bench/inotify/test_command.py",
    "bench/inotify/made.py": "tests/bench/inotify/test_command.py",
    "bench/waiting/measuring.py": "tests/bench/waiting/test_command.py",
    "nncache/commands/proxies.py": "tests/nncache/commands/test_proxies_view.py",
    "nncache/commands/registry_client.py": "tests/nncache/commands/test_registry.py",
    "nncache/daemons/federated_pages.py": "tests/nncache/daemons/test_namespaces_served.py",
    "nncache/daemons/namespace_stack.py": "tests/nncache/daemons/test_proxy_wiring.py",
    "nncache/daemons/start_lines.py": "tests/nncache/daemons/test_proxy_wiring.py",
    "registry/entry.py": "tests/registry/test_operations.py",
    "registry/errors.py": "tests/registry/test_operations.py",
    "registry/record.py": "tests/registry/test_record_json.py",
    "testbed/yarn.py": "tests/registry/test_real_yarn.py",
    "invalidation/errors.py": "tests/invalidation/edits/test_poller.py",
}
"""Modules without a test file of their own, and where they are tested."""

OF_MANY_MODULES: dict[str, str] = {
    "tests/bench/judge/test_agreement.py": "bench/judge",
    "tests/bench/judge/test_planted.py": "bench/judge",
    "tests/cache/test_many_windows.py": "cache",
    "tests/deploy/grafana/test_linter.py": "deploy/grafana",
    "tests/deploy/test_alerts.py": "deploy/prometheus",
    "tests/deploy/test_compose.py": "deploy",
    "tests/deploy/test_kubernetes.py": "deploy/kubernetes",
    "tests/deploy/test_prometheus.py": "deploy/prometheus",
    "tests/deploy/test_systemd.py": "deploy/systemd",
    "tests/hadoop/rpc/test_compared_connections.py": "hadoop/rpc",
    "tests/hadoop/test_any_election.py": "hadoop",
    "tests/nncache/commands/test_signals.py": "nncache/commands",
    "tests/nncache/settings/test_distributions.py": "nncache/settings",
    "tests/invalidation/edits/test_rolls.py": "invalidation/edits",
    "tests/invalidation/publisher/test_new_nameservice.py": "invalidation/publisher",
    "tests/invalidation/publisher/test_records_that_stay.py": "invalidation/publisher",
    "tests/proxy/test_failing_cache.py": "proxy",
    "tests/proxy/test_handed_over_calls.py": "proxy",
    "tests/proxy/upstream/test_large_bodies.py": "proxy/upstream",
    "tests/proxy/upstream/test_over_tls.py": "proxy/upstream",
    "tests/proxy/test_two_step_writes.py": "proxy",
    "tests/registry/test_faults.py": "registry",
    "tests/registry/test_flood.py": "registry",
    "tests/registry/test_hadoop_client.py": "registry",
    "tests/registry/test_hadoop_records.py": "registry",
    "tests/registry/test_other_zookeeper.py": "registry",
    "tests/registry/test_real_yarn.py": "registry",
    "tests/registry/test_ten_thousand.py": "registry",
}
"""Test files that are named after no module, and the directory that they test as a whole."""

PRODUCT = tuple(room for room in ROOMS if room != "demo")
"""The demo is a story that checks itself; running it is its test."""

TESTS = tuple(path for path in sources(*(f"tests/{room}" for room in ROOMS)) if path.name.startswith("test_"))


def test_a_test_file_of_a_room_names_a_module() -> None:
    """`tests/<room>/test_<module>.py` tests `<room>/<module>.py`, or the table says what."""
    nameless = {shown(test) for test in TESTS if not _module_of(test).exists()}
    assert nameless == OF_MANY_MODULES.keys(), "one names no module, or the table is old"


def _module_of(test: Path) -> Path:
    return ROOT / test.relative_to(ROOT / "tests").with_name(test.name.removeprefix("test_"))


def test_a_module_has_a_test_file() -> None:
    """`<room>/<module>.py` is tested by `tests/<room>/test_<module>.py`, or the table says where."""
    untested = {
        shown(module)
        for module in sources(*PRODUCT)
        if module.name != "__init__.py" and not _test_of(module).exists() and acts(module)
    }
    assert untested == TESTED_ELSEWHERE.keys(), "a test file is missing, or the table is old"


def _test_of(module: Path) -> Path:
    return ROOT / "tests" / module.relative_to(ROOT).with_name(f"test_{module.name}")


def test_the_tables_name_what_is_there() -> None:
    """An entry of a test file or a directory that is gone is old."""
    assert set(TESTED_ELSEWHERE.values()) <= {shown(test) for test in TESTS}
    assert all((ROOT / room).is_dir() for room in OF_MANY_MODULES.values())
