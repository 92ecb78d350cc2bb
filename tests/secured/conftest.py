"""Fixtures: this process as a client of the secured cluster's KDC, and proxies in front of that cluster."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from nncache.testbed.ports import PortLease
from tests.kerberos import clients_of, need_gssapi
from tests.real.stand import SPARING
from tests.secured.service import identity_flags, run, tls_flags, without, zookeeper_flags
from tests.secured.terminating import Terminating, secrets_file, termination_flags
from tests.service import spelled

GLOBS = ("/kept/*", "/kept/*/*", "/kept/*/*/*")
FILTERS_PATH = "/filters/passed"
PATIENT = ("--max-staleness-s", "30")
"""These tests count hits: on a busy machine, a delay of the changes must not close the gate."""


@pytest.fixture
def kdc(secured_cluster: Cluster) -> Iterator[Kdc]:
    """The KDC of the secured cluster, which gssapi in this process uses during the test."""
    assert secured_cluster.kdc is not None
    with clients_of(secured_cluster.kdc):
        yield secured_cluster.kdc


@pytest.fixture(scope="module")
def kdc_of_module(secured_cluster: Cluster) -> Iterator[Kdc]:
    """The same KDC, during the tests of a module."""
    assert secured_cluster.kdc is not None
    with clients_of(secured_cluster.kdc):
        yield secured_cluster.kdc


@pytest.fixture(scope="session")
def secured_proxies(secured_cluster: Cluster) -> Iterator[dict[str, ProxyDaemon]]:
    """A proxy on each channel that caches the matches of GLOBS. Both read the edits with a keytab."""
    need_gssapi()
    assert secured_cluster.kdc is not None
    with clients_of(secured_cluster.kdc), ExitStack() as close:
        own = identity_flags(secured_cluster, secured_cluster.kdc)
        stored = zookeeper_flags(secured_cluster, "/passed")
        places = ("--filters-path", FILTERS_PATH)
        for number, glob in enumerate(GLOBS):
            add = ("filters", "add", "--name", f"passed{number}", "--glob", glob, "--owner", "nncache")
            run(*add, *without(own, "--namenode-rpc"), *places)
        close.enter_context(PublisherDaemon(*own, *stored, *places, *spelled(SPARING))).await_publishing()
        globs = (word for glob in GLOBS for word in ("--glob", glob))
        by_user = ("--tenants-by", "user")
        made = {
            "direct": close.enter_context(ProxyDaemon(*own, *globs, *PATIENT, *by_user, *spelled(SPARING))),
            "zookeeper": close.enter_context(ProxyDaemon(*own, *stored, *PATIENT, *by_user)),
        }
        for proxy in made.values():
            proxy.await_gate()
        yield made


@pytest.fixture(scope="session")
def terminating(secured_cluster: Cluster, secured_proxies: dict[str, ProxyDaemon]) -> Iterator[Terminating]:
    """A proxy on each channel that caches the matches of GLOBS and authenticates its clients itself."""
    assert secured_cluster.kdc is not None
    assert secured_proxies, "their publisher serves the one on ZooKeeper"
    with ExitStack() as close:
        directory = Path(close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-termination-")))
        close.enter_context(clients_of(secured_cluster.kdc))
        own = identity_flags(secured_cluster, secured_cluster.kdc)
        stored = zookeeper_flags(secured_cluster, "/passed")
        flags = termination_flags(secured_cluster.kdc, directory)
        direct = (*(word for glob in GLOBS for word in ("--glob", glob)), *spelled(SPARING))
        authority = secured_cluster.authority
        assert authority is not None
        ports = close.enter_context(PortLease())
        proxies, tls = {}, {}
        for name, channel in (("direct", direct), ("zookeeper", stored)):
            port = ports.take()
            listen = tls_flags(secured_cluster, f"terminating-{name}", port)
            proxies[name] = close.enter_context(ProxyDaemon(*own, *channel, *flags, *listen, *PATIENT))
            tls[name] = f"localhost:{port}"
        for proxy in proxies.values():
            proxy.await_gate()
        yield Terminating(proxies, tls, authority.client_context(), secrets_file(directory))
