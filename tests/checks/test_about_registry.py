"""The registry's state, for a daemon that registers."""

from typing import Any

import pytest

from nncache.checks.about_registry import registered, registry, stale
from nncache.checks.facts import CheckFacts, Contact, HostFound, RegistryFound, Trouble
from nncache.coordination.acl import ALL, OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.hadoop.server_kind import ServerKind
from nncache.registry.access import READABLE
from nncache.registry.daemon_record import PROXY, PUBLISHER, RegisteredDaemon
from nncache.registry.record import ServiceRecord
from tests.checks.samples import of_proxy, of_publisher, reported

FLAGS = {"registry": True, "zookeeper": ("zk1:2181",), "channel": "direct", "listen": "p:80"}
SECURE = {
    **FLAGS,
    "registry_secure": True,
    "registry_system_accounts": ("sasl:yarn@R",),
    "zookeeper_sasl": "kerberos",
    "principal": "nn/h@R",
    "keytab": "/k",
}
OURS = RegisteredDaemon(
    kind=PROXY, host="p", port=80, webhdfs=("http://p:80/webhdfs/v1",), admin="http://p:81/"
)
SYSTEM = ZnodeAclEntry("sasl", "yarn@R", ALL)


def found(**changes: Any) -> RegistryFound:
    """Return a registry in which this daemon's entry is free."""
    known: dict[str, Any] = {
        "host": "p",
        "hosts": ("10.0.0.7",),
        "acls": {"/": OPEN_ACL, "/services": OPEN_ACL},
        "path": OURS.path,
        "at": "p:80",
    }
    return RegistryFound(**(known | changes))


def of(registry: RegistryFound | None, flags: dict[str, Any] | None = None, **known: Any) -> CheckFacts:
    """Return facts of a proxy that registers."""
    return of_proxy(flags or FLAGS, registry=registry, **known)


def running(kind: ServerKind, key: str = "listen") -> HostFound:
    """Return a host with a server of this kind at a key's address."""
    return HostFound(users={key: Contact(address="p:80", kind=kind)})


@pytest.mark.parametrize("judge", [registry, registered, stale])
def test_without_a_registry_nothing_is_judged(judge: Any) -> None:
    """Registration is off, or ZooKeeper was not reached."""
    assert reported(judge(of_proxy())) == ["skipped: because this daemon does not register (registry) | "]
    assert reported(judge(of(None))) == ["skipped: because no ZooKeeper answers | "]


def test_a_registry_that_cannot_be_read() -> None:
    """Then only the host is known."""
    facts = of(found(silence="no session"))
    (line,) = reported(registry(facts))
    assert line.startswith("failed: the registry could not be read: no session | see that the ensemble")
    assert reported(registered(facts)) == ["skipped: because the registry could not be read | "]


def test_a_root_that_is_not_there() -> None:
    """The daemon may be meant for another root."""
    (line,) = reported(registry(of(found(acls={}))))
    assert line.startswith("warning: there is no /registry in ZooKeeper")
    assert "set --registry-root to" in line


def test_an_open_registry() -> None:
    """It must allow this daemon to create its entry, unless the entry exists."""
    assert reported(registry(of(found()))) == [
        "ok: /registry can be read; 2 entries from there to this daemon's seen | "
    ]
    closed = {"/": OPEN_ACL, "/services": (READABLE,)}
    (line,) = reported(registry(of(found(acls=closed))))
    assert line.startswith("failed: the ACL of /services lets no client make entries that has not logged in")
    assert reported(registry(of(found(acls={**closed, OURS.path: (READABLE,)}))))[0].startswith("ok")
    with_login = {"zookeeper_sasl": "kerberos", "principal": "nn/h@R", "keytab": "/k", **FLAGS}
    assert reported(registry(of(found(acls=closed), with_login)))[0].startswith("ok")


def test_wrong_acls_of_a_secure_registry() -> None:
    """Write access for strangers is a failure, a missing permission of a system account a warning."""
    acls = {
        "/": (READABLE, SYSTEM),
        "/services": (READABLE, SYSTEM, ZnodeAclEntry("world", "anyone", ZnodePerms.CREATE)),
        "/services/nncache": (READABLE,),
    }
    strangers, account = reported(registry(of(found(acls=acls), SECURE)))
    assert strangers.startswith("failed: /services: world:anyone")
    assert "strangers can send clients elsewhere | set its ACL" in strangers
    assert account.startswith("warning: /services/nncache: the system account sasl:yarn@R has not all rights")
    assert reported(registry(of(found(acls={"/": acls["/"]}), SECURE)))[0].startswith("ok")


@pytest.mark.parametrize(
    ("hosts", "verdict", "part"),
    [
        ((), "failed", "p is registered, and cannot be resolved"),
        (
            ("127.0.0.1", "::1"),
            "warning",
            "p is registered, which is 127.0.0.1, ::1: no other host can reach it",
        ),
        (("127.0.0.1", "10.0.0.7"), "ok", "is free"),
        (("fe80::1%eth0",), "ok", "is free"),
    ],
)
def test_the_host_must_be_of_use_to_others(hosts: tuple[str, ...], verdict: str, part: str) -> None:
    """It is sufficient that one of the name's addresses is reachable."""
    first = reported(registered(of(found(hosts=hosts))))[0]
    assert first.startswith(verdict)
    assert part in first


def test_the_entry_of_this_daemon() -> None:
    """It exists while the daemon runs, and is the daemon's own."""
    record = OURS.record
    at_work = running(ServerKind.PROXY)
    cases: list[tuple[RegistryFound, HostFound, str]] = [
        (found(), HostFound(), f"ok: {OURS.path} is free"),
        (found(record=record), at_work, f"ok: {OURS.path} leads to p:80"),
        (found(), at_work, "failed: a proxy runs at listen, but there is no"),
        (
            found(record=record),
            HostFound(),
            f"warning: {OURS.path} is registered, but no proxy runs at listen",
        ),
        (found(record=record), running(ServerKind.HTTP), f"warning: {OURS.path} is registered, but no proxy"),
        (found(fault="no JSON"), at_work, f"warning: {OURS.path} holds no record that can be read: no JSON"),
        (found(record=ServiceRecord()), at_work, f"failed: {OURS.path} is bound to another service (no desc"),
        (found(path=""), HostFound(), "skipped: because the port"),
    ]
    for registry_found, host, begin in cases:
        assert reported(registered(of(registry_found, host=host)))[0].startswith(begin)


def test_the_entry_of_a_publisher() -> None:
    """Its name contains the admin port."""
    daemon = RegisteredDaemon(kind=PUBLISHER, host="p", port=81, admin="http://p:81/")
    known = found(path=daemon.path, at="p:81", record=daemon.record)
    facts = of_publisher(
        {"registry": True}, registry=known, host=running(ServerKind.PUBLISHER_ADMIN, "admin")
    )
    assert reported(registered(facts)) == [f"ok: {daemon.path} leads to p:81 | "]


def test_entries_of_daemons_that_do_not_answer() -> None:
    """Each is named with its address and with the server found there."""
    others = {
        "/a": Contact(address="a:1", kind=ServerKind.PROXY),
        "/b": Contact(address="b:1", trouble=Trouble.UNREACHABLE),
        "/c": Contact(address="c:1", kind=ServerKind.HTTP),
    }
    (line,) = reported(stale(of(found(others=others))))
    assert line.startswith(
        "warning: no daemon of nncache answers from here for /b (b:1), /c (c:1, which is an HTTP"
    )
    assert reported(stale(of(found(others={"/a": others["/a"]})))) == [
        "ok: 1 other daemons are registered, and all answer | "
    ]
