"""The layers of tests: `make test` for each change, `make check` before a merge, `make nightly` for the rest.

A file belongs to one layer:
- TEST: no processes, except the session's shared cluster (`ON_THE_CLUSTER`);
- CHECK: its own processes, or a short form of a nightly run (`WITH_PROCESSES`);
- NIGHTLY: tests of a minute or more, marked `long`, in files of any layer.
"""

from enum import StrEnum
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[1]


class Layer(StrEnum):
    """The layer of a test."""

    TEST = "test"
    CHECK = "check"
    NIGHTLY = "nightly"


ON_THE_CLUSTER = (
    "tests/stories/",
    "tests/contracts/",
    "tests/clients/",
    "tests/hadoop/kerberos/",  # a KDC starts immediately
    "tests/hadoop/rpc/test_namenode.py",
    "tests/hadoop/rpc/test_namespace_calls.py",
    "tests/hadoop/test_jmx.py",
    "tests/hadoop/test_webhdfs.py",
    "tests/invalidation/filters/test_hdfs_bulk.py",
    "tests/invalidation/filters/test_hdfs_reader.py",
    "tests/invalidation/filters/test_hdfs_store.py",
    "tests/invalidation/filters/test_quick_hdfs.py",
    "tests/invalidation/filters/test_read_ahead.py",
    "tests/invalidation/test_namenodes.py",
    "tests/proxy/upstream/test_queries.py",
    "tests/registry/test_operations.py",
    "tests/client/test_connecting.py",
)
"""Directories and files of the layer TEST that use the session's cluster. One worker runs all of them."""

WITH_PROCESSES = (
    "tests/bench/",
    "tests/demo/",
    "tests/secured/",
    "tests/faults/",
    "tests/differential/",
    "tests/daemons/test_openapi.py",
    "tests/races/test_model.py",
    "tests/races/test_real.py",
    "tests/hostile/test_cost.py",
    "tests/advisor/test_advise.py",
    "tests/advisor/test_loop.py",
    "tests/advisor/test_on_executors.py",
    "tests/advisor/test_parse.py",
    "tests/advisor/test_real_namenode.py",
    "tests/namenode/test_beside_a_namenode.py",
    "tests/namenode/test_crashes_on_zookeeper.py",
    "tests/namenode/test_datanodes_on_zookeeper.py",
    "tests/namenode/test_light_cluster.py",
    "tests/namenode/test_listed_differences.py",
    "tests/namenode/test_many.py",
    "tests/namenode/test_proxy_in_front.py",
    "tests/namenode/test_races.py",
    "tests/alike/",
    "tests/model/test_",
    "tests/model/variants/",
    "tests/hostile/attacker/",
    "tests/hostile/real/",
    "tests/hostile/wire/",
    "tests/testbed/",
    "tests/job_commit/",
    "tests/bulk_filters/",
    "tests/discovery/",
    "tests/inotify/",
    "tests/journal_faults/",
    "tests/overload/",
    "tests/real/",
    "tests/browser/",
    "tests/commands/",
    "tests/checks/test_namenode_probe.py",
    "tests/client/test_forked_process.py",
    "tests/net/test_daemon_thread.py",
    "tests/contracts/test_zookeeper_faults.py",
    "tests/hadoop/editlog/test_real_edits.py",
    "tests/coordination/test_kazoo_client.py",
    "tests/coordination/test_many_reads.py",
    "tests/coordination/test_sasl.py",
    "tests/coordination/test_session.py",
    "tests/coordination/test_tls.py",
    "tests/daemons/test_dns_wiring.py",
    "tests/daemons/test_registered.py",
    "tests/registry/test_registration.py",
    "tests/registry/test_follower.py",
    "tests/daemons/test_watchdog.py",
    "tests/deploy/",
    "tests/docs/test_clients_page.py",
    "tests/docs/test_site.py",
    "tests/house/test_extras.py",
    "tests/house/test_packages.py",
    "tests/registry/test_hadoop_records.py",
    "tests/registry/test_tree_watch.py",
    "tests/tracing/test_traced_proxy.py",
)
"""Directories, files and beginnings of names of the layer CHECK: tests that start processes, and short forms of what
runs nightly. Those that take longest come first, so that no worker is left alone.
"""

TOGETHER = ("tests/bench/", "tests/advisor/", "tests/demo/", "tests/secured/")
"""Directories whose tests share a costly resource, set up once a session: Spark, the demo, a cluster with Kerberos."""


def layer_of(path: Path) -> Layer:
    """Return the layer of a test file; its tests marked `long` run nightly."""
    return Layer.CHECK if _place(path.relative_to(ROOT).as_posix(), WITH_PROCESSES) else Layer.TEST


def share_of(nodeid: str) -> str:
    """Return the share of a test, which one worker runs: the cluster, a directory of TOGETHER, or its file."""
    if _place(nodeid, ON_THE_CLUSTER):
        return "cluster"
    return _place(nodeid, TOGETHER) or nodeid.partition("::")[0]


def rank_of(nodeid: str) -> int:
    """Return the test's rank; lower ranks run first."""
    order = (*ON_THE_CLUSTER, *WITH_PROCESSES)
    place = _place(nodeid, order)
    return order.index(place) if place else len(order)


def _place(name: str, places: tuple[str, ...]) -> str:
    return next((place for place in places if name.startswith(place)), "")


class Shares(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """Distributes whole shares to workers, in the order of each share's first test."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
