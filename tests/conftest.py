"""Fixtures of all tests. No JVM starts unless a test asks for the cluster."""

import gc
import logging
import os
import sys
import uuid
from collections.abc import Iterator
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

for _variable in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME"):  # of this machine's own Hadoop
    os.environ.pop(_variable, None)

# A busy machine is slow at times; how much work is done is counted where it matters, never timed.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

NEED_JARS = {"cluster", "secured_cluster", "zookeeper_server"}
"""Fixtures that start a JVM."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses a layer (tests/layers.py)."""
    parser.addoption("--layer", choices=[*Layer], help="run the tests of this layer alone")
    parser.addoption("--light", action="store_true", help="let the session's cluster be a light one")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of other layers; None is no opinion."""
    layer = config.getoption("layer")
    if layer is None or layer == Layer.NIGHTLY or collection_path.is_dir():
        return None
    return True if layer_of(collection_path) != layer else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the garbage collector all that is collected and imported: it took a quarter of the time in each worker."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Shares:
    """Keep tests together that share what is costly to set up."""
    config.option.loadscopereorder = False  # by their number, the long and few would come last
    return Shares(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, where several workers share the tests."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank_of(item.nodeid))


def pytest_collection_finish() -> None:
    """Refuse modules of tests that, imported, make the log say less: other tests wait for what it says."""
    if logging.getLogger("nncache").level or logging.root.manager.disable:
        raise pytest.UsageError(
            "an import has made nncache's log quiet; call tests.quiet.be_quiet in a test instead"
        )


@pytest.hookimpl(tryfirst=True)  # a worker's own loop asks nobody after it
def pytest_runtestloop(session: pytest.Session) -> None:
    """Bring Hadoop's jars before the first test that needs them: a download is not a hung test."""
    if session.config.option.collectonly:
        return
    if any(not NEED_JARS.isdisjoint(getattr(item, "fixturenames", ())) for item in session.items):
        capture = session.config.pluginmanager.get_plugin("capturemanager")
        assert capture is not None
        with capture.global_and_fixture_disabled():
            resolve(HADOOP, progress=partial(print, file=sys.stderr))  # a worker's other output goes nowhere


STARTED: list[str] = []
"""Processes that were started since a test began."""


def _notice(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        STARTED.append(str(arguments[0]))


def pytest_configure(config: pytest.Config) -> None:
    """Watch for processes in the layer that starts none."""
    if config.getoption("layer") == Layer.TEST:
        sys.addaudithook(_notice)


@pytest.fixture(autouse=True)
def starts_no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of the layer TEST that starts a process: its file belongs into `WITH_PROCESSES`."""
    STARTED.clear()
    yield
    if request.node.nodeid.startswith(ON_THE_CLUSTER) or request.config.getoption("layer") != Layer.TEST:
        return
    if "cluster" in request.fixturenames:  # it may run already, in this worker: then nothing is started
        pytest.fail(
            "this test needs the session's cluster: name this file in tests/layers.py, ON_THE_CLUSTER"
        )
    if STARTED:
        pytest.fail(f"{STARTED[0]} was started: name this file in tests/layers.py, WITH_PROCESSES")


@pytest.fixture(autouse=True)
def log_afterwards() -> Iterator[None]:
    """Undo what `be_quiet`, or a command that was run in this process, has done to the log: other tests wait for it."""
    level = logging.root.level
    yield
    logging.root.setLevel(level)
    enable_logging()


@pytest.fixture(scope="module")
def collector() -> Iterator[None]:
    """Put the garbage collector back to what it was, after proxies or publishers have run in this process."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()  # what is left of them can go
    gc.collect()
    gc.freeze()
    gc.set_threshold(*before)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A NameNode, a DataNode and a ZooKeeper of release HADOOP, one of each for the whole session.

    Leave it as it was found: whoever kills, pauses or reconfigures a server starts a cluster of their own.
    With --light a light cluster stands in their place, for a look at what needs *a* NameNode and not *the* NameNode.
    """
    if request.config.getoption("light"):
        with LightServer(request.getfixturevalue("zookeeper_server")) as light:
            yield light
        return
    with Cluster.start(SESSION) as started:
        yield started


@pytest.fixture(scope="session")
def secured_cluster() -> Iterator[Cluster]:
    """A cluster with Kerberos and a KDC of its own, one for the whole session. For tests in tests/secured.

    Leave it as it was found, the KDC serving.
    """
    need_kdc()
    with Cluster.start(SECURED) as started:
        yield started


@pytest.fixture(scope="session")
def kdc_server() -> Iterator[KdcServer]:
    """A KDC without a cluster, with alice and HTTP/localhost. It may be stopped, but is left serving."""
    need_kdc()
    with KdcServer() as server:
        server.add("alice", "HTTP/localhost")
        yield server


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper for tests that need no NameNode. It may be killed and wiped, but is left serving."""
    with ZooKeeperServer(hadoop_version=HADOOP, version=ZOOKEEPER) as server:
        yield server


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry that is this test's alone."""
    with place_of_its_own(cluster) as settings:
        yield settings


@pytest.fixture
def administrators_directory(cluster: Cluster) -> str:
    """Return a directory in HDFS that is this test's alone, where only the superuser may write."""
    path = f"/administrators/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/administrators", "755")
    make_directory(cluster, path, "755")
    return path


@pytest.fixture
def hdfs_directory(cluster: Cluster) -> str:
    """Return a directory in HDFS, mode 777, that is this test's alone."""
    path = f"/t/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/t")
    make_directory(cluster, path)
    return path
