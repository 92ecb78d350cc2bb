"""Fixtures of all tests. No JVM starts unless a test requests a cluster."""

import gc
import logging
import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nncache.testbed import Cluster
from nncache.testbed.jars import resolve
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP, SECURED, SESSION, ZOOKEEPER, make_directory
from tests.kerberos import KdcServer, need_kdc
from tests.layers import ON_THE_CLUSTER, Layer, Shares, layer_of, rank_of
from tests.quiet import enable_logging
from tests.real.light_server import LightServer
from tests.registry.samples import place_of_its_own

for _variable in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME"):  # of a Hadoop installation on this machine
    os.environ.pop(_variable, None)

# A busy machine is slow at times. Tests that limit work count it and never time it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

NEED_JARS = {"cluster", "secured_cluster", "zookeeper_server"}
"""Fixtures that start a JVM."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for a layer (tests/layers.py) and for a light cluster."""
    parser.addoption("--layer", choices=[*Layer], help="run the tests of this layer alone")
    parser.addoption("--light", action="store_true", help="let the session's cluster be a light one")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the files of other layers; None leaves the decision to others."""
    layer = config.getoption("layer")
    if layer is None or layer == Layer.NIGHTLY or collection_path.is_dir():
        return None
    return True if layer_of(collection_path) != layer else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exempt collected and imported objects from garbage collection, which took a quarter of each worker's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Shares:
    """Keep tests with a common costly fixture in one worker."""
    config.option.loadscopereorder = False  # by number, the long and few would come last
    return Shares(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker, start with the tests that take longest."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank_of(item.nodeid))


def pytest_collection_finish() -> None:
    """Refuse test modules that silence the log when imported: other tests wait for its lines."""
    if logging.getLogger("nncache").level or logging.root.manager.disable:
        raise pytest.UsageError(
            "an import has made nncache's log quiet; call tests.quiet.be_quiet in a test instead"
        )


@pytest.hookimpl(tryfirst=True)  # a worker's own loop calls no other hook
def pytest_runtestloop(session: pytest.Session) -> None:
    """Download Hadoop's jars before the first test that needs them, since a download could exceed its timeout."""
    if session.config.option.collectonly:
        return
    if any(not NEED_JARS.isdisjoint(getattr(item, "fixturenames", ())) for item in session.items):
        capture = session.config.pluginmanager.get_plugin("capturemanager")
        assert capture is not None
        with capture.global_and_fixture_disabled():
            resolve(HADOOP, progress=partial(print, file=sys.stderr))  # a worker's stdout is lost


STARTED: list[str] = []
"""Processes started since the current test began."""


def _notice(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        STARTED.append(str(arguments[0]))


def pytest_configure(config: pytest.Config) -> None:
    """Record started processes in the layer that starts none."""
    if config.getoption("layer") == Layer.TEST:
        sys.addaudithook(_notice)


@pytest.fixture(autouse=True)
def starts_no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of the layer TEST that starts a process: its file must be listed in `WITH_PROCESSES`."""
    STARTED.clear()
    yield
    if request.node.nodeid.startswith(ON_THE_CLUSTER) or request.config.getoption("layer") != Layer.TEST:
        return
    if "cluster" in request.fixturenames:  # it may already run in this worker, so that nothing is started
        pytest.fail(
            "this test needs the session's cluster: name this file in tests/layers.py, ON_THE_CLUSTER"
        )
    if STARTED:
        pytest.fail(f"{STARTED[0]} was started: name this file in tests/layers.py, WITH_PROCESSES")


@pytest.fixture(autouse=True)
def log_afterwards() -> Iterator[None]:
    """Undo `be_quiet` and the log settings of commands run in this process: other tests wait for log lines."""
    level = logging.root.level
    yield
    logging.root.setLevel(level)
    enable_logging()


@pytest.fixture(scope="module")
def collector() -> Iterator[None]:
    """Restore the garbage collector's settings after proxies or publishers have run in this process."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()  # their objects can be freed
    gc.collect()
    gc.freeze()
    gc.set_threshold(*before)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A NameNode, a DataNode and a ZooKeeper of release HADOOP, shared by the whole session.

    A test must leave it unchanged: one that kills, pauses or reconfigures a server starts its own cluster.
    With --light it is a light cluster, for tests that need any NameNode rather than Hadoop's.
    """
    if request.config.getoption("light"):
        with LightServer(request.getfixturevalue("zookeeper_server")) as light:
            yield light
        return
    with Cluster.start(replace(SESSION, audit_log=True)) as started:
        yield started


@pytest.fixture(scope="session")
def secured_cluster() -> Iterator[Cluster]:
    """A cluster with Kerberos and its own KDC, shared by the whole session, for tests in tests/secured.

    A test must leave it unchanged, with the KDC running.
    """
    need_kdc()
    with Cluster.start(SECURED) as started:
        yield started


@pytest.fixture(scope="session")
def kdc_server() -> Iterator[KdcServer]:
    """A KDC without a cluster, with alice and HTTP/localhost. A test may stop it, but must leave it running."""
    need_kdc()
    with KdcServer() as server:
        server.add("alice", "HTTP/localhost")
        yield server


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper for tests without a NameNode. A test may kill and wipe it, but must leave it running."""
    with ZooKeeperServer(hadoop_version=HADOOP, version=ZOOKEEPER) as server:
        yield server


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry for this test alone."""
    with place_of_its_own(cluster) as settings:
        yield settings


@pytest.fixture
def administrators_directory(cluster: Cluster) -> str:
    """Return an HDFS directory for this test alone, writable only by the superuser."""
    path = f"/administrators/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/administrators", "755")
    make_directory(cluster, path, "755")
    return path


@pytest.fixture
def hdfs_directory(cluster: Cluster) -> str:
    """Return an HDFS directory of mode 777 for this test alone."""
    path = f"/t/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/t")
    make_directory(cluster, path)
    return path
