"""ZooKeeper's state, for a proxy that follows a publisher and for a publisher."""

from typing import Any

from nncache.checks.about_zookeeper import acls, nameservice, publisher, session
from nncache.checks.facts import CheckFacts, ZooKeeperFound
from nncache.coordination.acl import ALL, OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.invalidation.publisher.identity import PublisherIdentity
from tests.checks.samples import (
    ON_ZOOKEEPER,
    ONE,
    THEIRS,
    answer,
    namenode,
    of_proxy,
    of_publisher,
    published,
    reported,
)

PUBLISHER = PublisherIdentity(id="1", host="h", pid=7, admin="h:9873")


def followed(found: ZooKeeperFound, last_txid: int | None = 7) -> CheckFacts:
    """Return facts of a proxy with this ZooKeeper and an active NameNode."""
    active = namenode(answer=answer(last_txid=last_txid))
    return of_proxy(ON_ZOOKEEPER, zookeeper=found, namenodes={ONE: active})


def test_without_zookeeper_nothing_is_judged() -> None:
    """ZooKeeper is not used, or was not reached."""
    for judge in (session, nameservice, publisher):
        assert reported(judge(of_proxy()))[0].startswith("skipped: because nothing goes through ZooKeeper")
        assert reported(judge(of_proxy(ON_ZOOKEEPER))) == ["skipped: because no ZooKeeper answers | "]
    silent = ZooKeeperFound(silence="no session")
    (line,) = reported(session(followed(silent)))
    assert line.startswith("failed: no session | see that the ensemble has a leader")
    assert reported(nameservice(followed(silent))) == ["skipped: because ZooKeeper could not be read | "]
    assert reported(publisher(followed(silent))) == ["skipped: because ZooKeeper could not be read | "]


def test_a_session_is_reported_with_the_root() -> None:
    """The root may not exist yet."""
    assert "/HDFSInotifyRoot can be read" in reported(session(followed(published())))[0]
    assert "/HDFSInotifyRoot is not there yet" in reported(session(followed(ZooKeeperFound())))[0]


def test_our_nameservice_must_be_of_our_namenodes() -> None:
    """The line names both namespaces."""
    assert reported(nameservice(followed(published()))) == [
        "ok: /HDFSInotifyRoot/ns1 belongs to the namespace BP-1 of nn1:9870 | "
    ]
    theirs = of_proxy(
        ON_ZOOKEEPER, zookeeper=published(), namenodes={ONE: namenode(answer=answer(namespace=THEIRS))}
    )
    (line,) = reported(nameservice(theirs))
    assert line.startswith(
        f"failed: /HDFSInotifyRoot/ns1 in ZooKeeper belongs to namespace BP-1, but nn1:9870 serves {THEIRS}"
    )
    assert "| set --nameservice to" in line
    unknown = of_proxy(
        ON_ZOOKEEPER, zookeeper=published(), namenodes={ONE: namenode(answer=answer(namespace=None))}
    )
    assert "no active NameNode to compare it with" in reported(nameservice(unknown))[0]
    assert (
        "(none yet)" in reported(nameservice(of_proxy(ON_ZOOKEEPER, zookeeper=published(block_pool=""))))[0]
    )


def test_nothing_published_is_a_failure_for_a_proxy_alone() -> None:
    """A publisher may start with an empty tree."""
    empty, bare = ZooKeeperFound(), ZooKeeperFound(has_root=True)
    (line,) = reported(nameservice(followed(empty)))
    assert line.startswith(
        "failed: there is no /HDFSInotifyRoot in ZooKeeper: nothing was published there | set --zook"
    )
    (line,) = reported(nameservice(followed(ZooKeeperFound(elsewhere=("/other/ns7",)))))
    assert "nothing was published there; there is /other/ns7 | set --zookeeper-root" in line
    assert reported(nameservice(followed(bare)))[0].startswith(
        "failed: nothing is published below /HDFSInotifyRoot yet"
    )
    for found in (empty, bare):
        assert reported(nameservice(of_publisher(zookeeper=found)))[0].startswith(
            "ok: nothing is published below"
        )


def test_other_nameservices_are_listed() -> None:
    """The intended one may be among them."""
    two = ZooKeeperFound(has_root=True, nameservices=("prod", "test"))
    (line,) = reported(nameservice(followed(two)))
    assert line.startswith(
        "failed: there is no nameservice ns1 below /HDFSInotifyRoot, but: prod, test | set --nameservice"
    )
    (line,) = reported(nameservice(of_publisher(zookeeper=two)))
    assert line.startswith("warning: there is no nameservice ns1")
    assert line.endswith("second tree beside them | if one of them is meant, set --nameservice to it")
    one = ZooKeeperFound(has_root=True, nameservices=("prod",))
    assert reported(nameservice(of_publisher(zookeeper=one)))[0].endswith("set --nameservice to prod")


def test_a_proxy_needs_a_publisher_that_keeps_up() -> None:
    """The NameNode's last txid counts: without changes in HDFS, nothing is published."""
    there = {"has_publisher": True, "publisher": PUBLISHER}
    assert reported(publisher(followed(published(**there)))) == [
        "ok: process 7 on h (its pages are at h:9873) publishes; .cache covers transaction 7 | "
    ]
    (line,) = reported(publisher(followed(published(**there), last_txid=8)))
    assert line.startswith(
        "warning: process 7 on h (its pages are at h:9873) is there, but .cache has stood still for 2 s"
    )
    assert "at transaction 7, and the NameNode has come to 8" in line
    assert reported(publisher(followed(published(**there, has_moved=True), last_txid=8)))[0].startswith(
        "ok: "
    )
    assert reported(publisher(followed(published(**there), last_txid=None)))[0].startswith("ok: ")
    assert reported(publisher(followed(published(has_publisher=True, txid=None))))[0].startswith(
        "warning: an unknown process"
    )
    (line,) = reported(publisher(followed(published())))
    assert line.startswith(
        "failed: no publisher is running: nothing is answered from memory without one | start nncache"
    )
    assert reported(publisher(followed(ZooKeeperFound()))) == [
        "skipped: because the nameservice is not published | "
    ]


def test_another_publisher_that_leads_is_reported() -> None:
    """This publisher would wait."""
    other = of_publisher(zookeeper=published(has_publisher=True, publisher=PUBLISHER))
    assert reported(publisher(other))[0].startswith("ok: another publisher leads: process 7 on h")
    assert reported(publisher(of_publisher(zookeeper=published())))[0].startswith(
        "ok: no publisher is running"
    )


def test_acls_are_judged_where_there_is_a_login() -> None:
    """Write access for strangers is a failure, since they can forge; read access is a warning. No login: skipped."""
    logged_in = ON_ZOOKEEPER | {"zookeeper_sasl": "digest", "zookeeper_password_file": "/p"}

    def judged(flags: dict[str, Any], **found: Any) -> str:
        (line,) = reported(acls(of_proxy(flags, zookeeper=published(**found))))
        return line

    closed = (ZnodeAclEntry("sasl", "us", ALL), ZnodeAclEntry("sasl", "joe", ZnodePerms.READ))
    shown = (*closed, ZnodeAclEntry("world", "anyone", ZnodePerms.READ))
    addressed = (*closed, ZnodeAclEntry("ip", "10.0.0.0/8", ZnodePerms.CREATE))
    assert reported(acls(of_proxy()))[0].startswith("skipped: because nothing goes through ZooKeeper")
    assert judged(ON_ZOOKEEPER, acls={"/a": OPEN_ACL}).startswith(
        "skipped: because no login at ZooKeeper is set"
    )
    assert judged(logged_in).startswith("skipped: because no ACL could be read")
    assert judged(logged_in, acls={"/a": closed}).startswith(
        "ok: clients that have not logged in can neither"
    )
    line = judged(logged_in, acls={"/a": closed, "/b": shown})
    assert line.startswith("warning: clients that have not logged in can read /b | see that zookeeper_acl")
    for acl in (OPEN_ACL, addressed):
        line = judged(logged_in, acls={f"/{number}": acl for number in range(7)})
        assert line.startswith(
            "failed: clients that have not logged in can change /0, /1, /2, /3, /4 and 2 more: they"
        )
        assert "start the publisher again with its login" in line
