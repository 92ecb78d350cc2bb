"""Read and write access to the service's znodes, tried with raw clients on a secured cluster."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyspark
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from nncache.testbed import Cluster, Kdc, workplace
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon, Subscriber
from nncache.testbed.errors import ServerStartError
from nncache.testbed.jars import java as find_java
from nncache.testbed.spec import REALM
from tests.cluster import make_directory, webhdfs
from tests.kerberos import clients_of
from tests.patience import HANG_S, until
from tests.secured.raw_zookeeper import ANONYMOUS, PASSWORD, all_paths, deeds, raw
from tests.secured.service import identity_flags, keytab_of, run, without, zookeeper_flags

NAMESERVICE: Final = "ns1"
SERVICE: Final = "nncache/localhost"
FILTERS_PATH: Final = "/filters/znode-access"
READ: Final = {"get", "list", "see the ACL"}


@dataclass(frozen=True, slots=True)
class Service:
    """A publisher that logs in to ZooKeeper, and two filters: `alices` for bob too, `bobs` for bob alone."""

    cluster: Cluster
    kdc: Kdc
    root: str
    """The root in ZooKeeper."""

    @property
    def top(self) -> str:
        """The nameservice's znode."""
        return f"{self.root}/{NAMESERVICE}"

    @property
    def zookeeper(self) -> str:
        """The address of ZooKeeper."""
        return self.cluster.zookeeper.address

    def filters(self, user: str, *words: str) -> None:
        """Change filters as this principal; fail where HDFS refuses."""
        own = identity_flags(self.cluster, self.kdc, f"{user}@{REALM}", user.partition("/")[0])
        run("filters", *words, *without(own, "--namenode-rpc"), "--filters-path", FILTERS_PATH)

    def publisher(self, *flags: str) -> PublisherDaemon:
        """Return a publisher that is not started yet."""
        return PublisherDaemon(
            *identity_flags(self.cluster, self.kdc),
            *zookeeper_flags(self.cluster, self.root),
            *("--filters-path", FILTERS_PATH, "--zookeeper-sasl", "kerberos", "--nameservice", NAMESERVICE),
            *flags,
        )

    @contextmanager
    def client(self, who: str) -> Iterator[KazooClient]:
        """Yield a ZooKeeper client of this principal."""
        with raw(self.zookeeper, who, self.kdc) as client:
            yield client


@pytest.fixture(scope="module")
def filters(secured_cluster: Cluster) -> None:
    """Add both filters. Each test restores them."""
    kdc = secured_cluster.kdc
    assert kdc is not None
    with clients_of(kdc):
        made = Service(secured_cluster, kdc, "/none")
        keytab_of(kdc, SERVICE)
        make_directory(secured_cluster, "/p")
        for name, owner in (("alices", "alice"), ("bobs", "bob")):
            made.filters(SERVICE, "add", "--name", name, "--glob", f"/p/{name}/*", "--owner", owner)
        made.filters("alice", "allow", "alices", "bob")


@pytest.fixture
def service(filters: None, secured_cluster: Cluster, kdc: Kdc) -> Service:
    """Return a service with a separate root in ZooKeeper."""
    return Service(secured_cluster, kdc, f"/protected-{uuid.uuid4().hex[:8]}")


def happen(service: Service, client: KazooClient) -> None:
    """Cause an event in each filter and wait until it is published."""
    for name in ("alices", "bobs"):
        stream = f"{service.top}/{name}"
        before = set(client.get_children(stream))
        webhdfs(service.cluster, "PUT", f"/p/{name}/{time.monotonic_ns()}", "MKDIRS")
        until(partial(_has_changed, client, stream, before))


def _has_changed(client: KazooClient, path: str, before: set[str]) -> bool:
    return set(client.get_children(path)) != before


def reads(client: KazooClient, path: str) -> bool:
    """Return whether a client may read a znode."""
    try:
        client.get(path)
    except NoAuthError:
        return False
    return True


def test_subscribers_read_only_their_filter(service: Service) -> None:
    """An anonymous client, one with a password, and carol read nothing. Bob reads exactly his filters, alice hers."""
    with service.publisher() as publisher, service.client(SERVICE) as own:
        publisher.await_publishing()
        until(lambda: own.exists(f"{service.top}/bobs") is not None)
        happen(service, own)
        paths = all_paths(own, service.root)
        assert len(paths) > len({f"{service.top}/.cache", f"{service.top}/alices", f"{service.top}/bobs"}) + 6
        for stranger in (ANONYMOUS, PASSWORD, "carol"):
            with service.client(stranger) as client:
                allowed = {path: sorted(k for k, v in deeds(client, path).items() if v) for path in paths}
            assert {path: done for path, done in allowed.items() if done} == {}, stranger
        for reader, names in (("bob", ("alices", "bobs")), ("alice", ("alices",))):
            theirs = {
                path
                for path in paths
                for name in names
                if f"{path}/".startswith((f"{service.top}/{name}/", f"{service.top}/.filters/{name}/"))
            }
            with service.client(reader) as client:
                allowed = {path: sorted(k for k, v in deeds(client, path).items() if v) for path in paths}
            assert {path: set(done) for path, done in allowed.items() if done} == dict.fromkeys(
                theirs, READ
            ), reader


def test_only_the_owner_changes_subscribers(service: Service) -> None:
    """The change applies to existing and later znodes of the filter. A subscriber who is not the owner is refused."""
    with service.publisher() as publisher, service.client(SERVICE) as own, service.client("carol") as carol:
        publisher.await_publishing()
        until(lambda: own.exists(f"{service.top}/alices") is not None)
        happen(service, own)
        old = all_paths(own, f"{service.top}/alices")
        with pytest.raises(AssertionError, match="only alice, who owns filter alices"):
            service.filters("bob", "allow", "alices", "carol")
        assert not any(reads(carol, path) for path in old)
        service.filters("alice", "allow", "alices", "carol")
        taken_s = until(lambda: all(reads(carol, path) for path in old))
        happen(service, own)
        new = all_paths(own, f"{service.top}/alices")
        assert set(new) > set(old)
        assert all(reads(carol, path) for path in new)
        assert not any(reads(carol, path) for path in all_paths(own, f"{service.top}/bobs"))
        service.filters("alice", "deny", "alices", "carol")
        taken_s = max(taken_s, until(lambda: not any(reads(carol, path) for path in new)))
        happen(service, own)
        assert not any(reads(carol, path) for path in all_paths(own, f"{service.top}/alices"))
        print(f"changed subscribers hold after {taken_s:.2f} s")  # noqa: T201 - a figure for the report


def test_wrong_acls_are_set_again_at_the_next_start_and_logged(service: Service) -> None:
    """This covers the open ACLs of an older release, and an ACL that was opened later."""
    with service.publisher() as publisher, service.client(SERVICE) as own:
        publisher.await_publishing()
        until(lambda: own.exists(f"{service.top}/alices") is not None)
        happen(service, own)
        publisher.stop()
        right = {path: own.get_acls(path)[0] for path in all_paths(own, service.root)}
        for path in right:
            own.set_acls(path, OPEN_ACL_UNSAFE)
        publisher.start()
        publisher.await_publishing()
        until(lambda: all(own.get_acls(path)[0] == acl for path, acl in right.items() if own.exists(path)))
        log = publisher.process.log.read_text(encoding="utf-8")
        assert "had other ACLs than they must have" in log
        assert "(had world:anyone:cdrwa)" in log
        for stranger in (ANONYMOUS, PASSWORD):
            with service.client(stranger) as client:
                assert not any(reads(client, path) for path in all_paths(own, service.root))


def test_a_proxy_reads_by_zookeeper_acl(service: Service) -> None:
    """Without an entry the log says what is missing. With one the proxy gets hits but may write nothing."""
    own_flags = (
        *identity_flags(service.cluster, service.kdc, f"proxy/localhost@{REALM}", "proxy"),
        *zookeeper_flags(service.cluster, service.root),
        *("--nameservice", NAMESERVICE, "--zookeeper-sasl", "kerberos"),
    )
    with service.publisher() as publisher, ProxyDaemon(*own_flags) as proxy:
        publisher.await_publishing()
        until(
            lambda: (
                "see zookeeper_sasl here, and at the publisher zookeeper_acl" in proxy.process.log.read_text()
            )
        )
    allowed = ("--zookeeper-acl", f"sasl:proxy/localhost@{REALM}:r")
    with service.publisher(*allowed) as publisher, service.client("proxy/localhost") as client:
        publisher.await_publishing()
        with ProxyDaemon(*own_flags) as proxy:
            proxy.await_gate()
        paths = all_paths(client, service.root)
        allowed_deeds = {deed for path in paths for deed, done in deeds(client, path).items() if done}
        assert allowed_deeds == READ


def test_a_subscriber_follows_without_seeing_more(service: Service) -> None:
    """`nncache watch` with bob's ticket notices a missing publisher although bob may not see its znode."""
    kdc = service.kdc
    flags = (
        *zookeeper_flags(service.cluster, service.root),
        *("--nameservice", NAMESERVICE, "--zookeeper-sasl", "kerberos"),
        *("--principal", f"bob@{REALM}", "--keytab", keytab_of(kdc, "bob")),
    )
    with service.publisher() as publisher, service.client(SERVICE) as own:
        publisher.await_publishing()
        until(lambda: own.exists(f"{service.top}/alices") is not None)
        with Subscriber("alices", *flags) as bob:
            happen(service, own)
            bob.await_that(lambda each: bool(each.events()), "has seen no event")
            publisher.stop()
            bob.await_that(lambda each: any("outage" in line for line in each.lines()), "saw no publisher go")
            publisher.start()
            publisher.await_publishing()
            happen(service, own)
            bob.await_that(lambda each: len(each.events()) > 1, "has seen no event after the outage")
            assert not bob.gaps()
        as_carol = ("--principal", f"carol@{REALM}", "--keytab", keytab_of(kdc, "carol"))
        for name, own_flags, why in (
            ("alices", (*flags[:-4], *as_carol), "ZooKeeper's ACL refuses it"),
            ("nones", flags, "this user may not list those that there are"),
        ):
            with pytest.raises(ServerStartError, match=why), Subscriber(name, *own_flags):
                pass


JARS = Path(pyspark.__file__).with_name("jars") / "*"
"""Hadoop's jars lack a part of ZooKeeper's client; Spark has it."""

CLIENT = """\
Client {{
  com.sun.security.auth.module.Krb5LoginModule required
  useTicketCache=true
  ticketCache="{tickets}"
  principal="alice@TEST.LOCAL";
}};
"""


def test_a_ticket_gives_a_name_that_acls_know(secured_cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    """ZooKeeper's own client creates a znode that is alice's. A client without SASL can connect but not read it."""
    address = secured_cluster.zookeeper.address
    (tmp_path / "jaas.conf").write_text(CLIENT.format(tickets=kdc.kinit("alice")), encoding="utf-8")
    command = (
        find_java(),
        f"-Djava.security.krb5.conf={kdc.krb5_conf}",
        f"-Djava.security.auth.login.config={tmp_path / 'jaas.conf'}",
        *("-cp", str(JARS), "org.apache.zookeeper.ZooKeeperMain", "-server", address),
    )
    lines = "create /alices x sasl:alice@TEST.LOCAL:cdrwa\ngetAcl /alices\nquit\n"
    made = workplace.run(command, environ=os.environ, stdin=lines)
    assert "'sasl,'alice@TEST.LOCAL" in made.stdout, made
    stranger = KazooClient(address, timeout=20.0)
    try:
        stranger.start(timeout=2 * HANG_S)
        with pytest.raises(NoAuthError):
            stranger.get("/alices")
    finally:
        stranger.stop()
        stranger.close()
