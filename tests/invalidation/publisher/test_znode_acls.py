"""A publisher's znodes have their ACLs; wrong ACLs are repaired and logged."""

import asyncio
import logging

import pytest

from nncache.coordination.acl import ALL, OPEN_ACL, Acl, ZnodeAclEntry, ZnodePerms, is_same
from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import ANY_VERSION, CreateOp, SetDataOp
from nncache.invalidation.publisher import znode_acls
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.znode_acls import AclRepair, ProtectedSession
from tests.coordination.fake_tree import SUPERUSER, FakeTree
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.publisher.fake_cluster import OURS, ZNODES, FakeCluster, protected_cluster
from tests.invalidation.virtual_time import clock, until

OWN: Acl = (ZnodeAclEntry("sasl", "publisher@R", ALL),)
THEIRS: Acl = (ZnodeAclEntry("sasl", "eve", ALL),)
TOP = ZNODES.namespace


async def test_znodes_with_other_acls_are_repaired_and_named(caplog: pytest.LogCaptureFixture) -> None:
    """A znode may have the right ACL, be open, missing, or unreadable for us; each problem is logged once."""
    server, counts = FakeZooKeeper(clock), OutputStats()
    ours = server.session(OURS)
    await ours.commit(
        [CreateOp("/right", b"", acl=OWN), CreateOp("/open", b""), CreateOp("/theirs", b"", acl=THEIRS)]
    )
    repair = AclRepair(ours, lambda _: OWN, counts)
    paths = ("/right", "/open", "/gone", "/theirs")
    await repair.repair(paths)
    assert server.tree.acl("/open").acl == OWN
    assert counts.acls_repaired == 1
    assert "/open (had world:anyone:cdrwa)" in caplog.messages[0]
    assert "may not look at or set, so that others may be able to write there: /theirs." in caplog.messages[1]
    await repair.repair(paths)
    server.tree.set_acl("/open", OPEN_ACL, ANY_VERSION)
    await repair.apply(paths)
    assert server.tree.acl("/open").acl == OWN
    assert counts.acls_repaired == 1
    assert len(caplog.messages) == 2


async def test_an_acl_that_was_set_meanwhile_stays(caplog: pytest.LogCaptureFixture) -> None:
    """The client that was faster knows more, for example the next publisher."""

    class Quicker(FakeSession):
        async def set_acl(self, path: str, acl: Acl, version: int) -> None:
            self._server.tree.set_acl(path, THEIRS, ANY_VERSION)
            await super().set_acl(path, acl, version)

    server = FakeZooKeeper(clock)
    ours = Quicker(server, SUPERUSER)
    ours.connect(1)
    await ours.commit([CreateOp("/a", b"")])
    await AclRepair(ours, lambda _: OWN, OutputStats()).repair(["/a"])
    assert server.tree.acl("/a").acl == THEIRS
    assert not caplog.messages


async def test_many_are_counted_and_a_few_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree of an older release has thousands; the memory of what was logged is limited."""
    monkeypatch.setattr(znode_acls, "MAX_LOGGED", 30)
    server, counts = FakeZooKeeper(clock), OutputStats()
    ours = server.session(OURS)
    for number in range(50):
        await ours.commit([CreateOp(f"/n{number}", b""), CreateOp(f"/t{number}", b"", acl=THEIRS)])
    repair = AclRepair(ours, lambda _: OWN, counts)
    await repair.repair(f"/n{number}" for number in range(50))
    assert counts.acls_repaired == 50
    assert caplog.messages[0].endswith("and 30 more")
    for start in (0, 25):
        await repair.repair(f"/t{number}" for number in range(start, start + 25))
    assert len(caplog.messages) == 3


def open_all(tree: FakeTree) -> dict[str, Acl]:
    """Open all znodes to everyone, and return their former ACLs."""
    before = {path: tree.acl(path).acl for path in tree.paths}
    for path in before:
        tree.set_acl(path, OPEN_ACL, ANY_VERSION)
    return before


async def test_a_publisher_repairs_opened_acls_at_its_start(caplog: pytest.LogCaptureFixture) -> None:
    """It repairs all znodes, records included, also in the tree of a release without ACLs."""
    on = protected_cluster()
    async with on.publishing():
        on.namenode.unlink("/f")
        await on.published()
    before = open_all(on.zookeeper.tree)
    async with on.publisher() as process:
        await on.published()
        await until(lambda: process.publisher.stats().output.acls_repaired >= len(before))
        now = {path: on.zookeeper.tree.acl(path).acl for path in on.zookeeper.tree.paths}
        assert {path for path, acl in now.items() if is_same(acl, OPEN_ACL)} == set()
        assert all(is_same(now[path], acl) for path, acl in before.items() if path in now)
    assert any("(had world:anyone:cdrwa)" in text for text in caplog.messages)


async def test_a_login_closes_a_tree_made_without_one(on: FakeCluster) -> None:
    """Subscribers can still read what they could read before."""
    async with on.publishing():
        on.namenode.unlink("/f")
        await on.published()
    assert is_same(on.zookeeper.tree.acl(ZNODES.stream("f")).acl, OPEN_ACL)
    on.who = OURS
    on.settings = on.settings.__class__(zookeeper_subscriber_id="sasl:{user}@R")
    async with on.publisher():
        await until(lambda: not is_same(on.zookeeper.tree.acl(ZNODES.stream("f")).acl, OPEN_ACL))
        await asyncio.sleep(1)
        joe = on.zookeeper.session(frozenset({("sasl", "joe@R")}))
        for record in on.zookeeper.tree.children(ZNODES.stream("f")):
            await joe.get(f"{ZNODES.stream('f')}/{record}")
        stranger = on.zookeeper.session()
        for path in on.zookeeper.tree.paths:
            with pytest.raises(NotAllowedError):
                await stranger.get(path)


async def test_a_presence_whose_acl_was_set_says_nothing_about_us() -> None:
    """Otherwise anyone whom an administrator admits at that znode would be admitted everywhere."""
    on = protected_cluster()
    async with on.publishing() as process:
        on.zookeeper.tree.set_acl(ZNODES.publisher, OPEN_ACL, ANY_VERSION)
        on.zookeeper.lose_next_commit(after=False)  # the run ends, but the znode stays
        on.namenode.unlink("/f")
        runs = process.publisher.stats().runs
        await until(lambda: process.publisher.stats().runs > runs)
        await on.published()
        for path in on.zookeeper.tree.paths:
            assert "world" not in {entry.scheme for entry in on.zookeeper.tree.acl(path).acl}, path


async def test_changed_subscribers_hold_at_every_znode_within_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An owner's change in HDFS also affects existing znodes, and ends no run."""
    caplog.set_level(logging.WARNING)
    on = protected_cluster()
    ann = on.zookeeper.session(frozenset({("sasl", "ann@R")}))

    async def reads() -> set[bool]:
        found = set()
        stream = ZNODES.stream("f")
        for path in (
            ZNODES.definition("f"),
            stream,
            *(f"{stream}/{n}" for n in on.zookeeper.tree.children(stream)),
        ):
            try:
                await ann.get(path)
                found.add(True)
            except NotAllowedError:
                found.add(False)
        return found

    async with on.publishing() as process:
        for _ in range(5):
            on.namenode.unlink("/f")
            await on.published()
        assert await reads() == {False}
        for allowed in (("ann",), (), ("ann", "bob"), ("bob",)):
            on.filters.put("f", "/f", allowed=allowed)
            await asyncio.sleep(1.0)
            assert await reads() == {"ann" in allowed}
            on.namenode.unlink("/f")
            await on.published()
            assert await reads() == {"ann" in allowed}
            await asyncio.sleep(60)  # a filter that keeps changing is read less often
        assert process.publisher.stats().runs_failed == 0
        assert ZnodePerms.READ in on.zookeeper.tree.acl(ZNODES.stream("f")).acl[-1].rights
    assert not caplog.messages


US = frozenset({("sasl", "us")})
CLOSED: Acl = (ZnodeAclEntry("auth", "", ALL),)


async def test_created_znodes_have_the_acl_of_their_path() -> None:
    """Ancestors that `ensure` creates have theirs too; an explicit ACL is kept."""
    server = FakeZooKeeper(clock)
    async with ProtectedSession(
        server.session(US), lambda path: OPEN_ACL if path == "/open" else CLOSED
    ) as ours:
        await ours.wait_connected(1.0)
        await ours.ensure("/a/b")
        given = (ZnodeAclEntry("sasl", "them", ALL),)
        await ours.commit([CreateOp("/open", b""), CreateOp("/c", b""), CreateOp("/g", b"", acl=given)])
        await ours.commit([SetDataOp("/c", b"x")])
        found = {path: server.tree.acl(path).acl for path in server.tree.paths}
        own = (ZnodeAclEntry("sasl", "us", ALL),)
        assert found == {"/a": own, "/a/b": own, "/c": own, "/g": given, "/open": OPEN_ACL}
        assert (ours.is_connected, ours.connection_id, ours.session_id) == (True, 1, ours.session_id)
        assert ours.stats().writes == 4
        assert (await ours.get("/c")).data == b"x"
        assert (await ours.get_many(["/c", "/d"]))[1] is None
        assert set(await ours.children("/")) == {"a", "c", "g", "open"}
        read = await ours.acl("/c")
        await ours.set_acl("/c", OPEN_ACL, read.version)
        assert is_same(server.tree.acl("/c").acl, OPEN_ACL)
        assert await ours.watch("/c").read() is not None


async def test_no_znode_is_ever_open_to_strangers() -> None:
    """Filters are added, changed and removed, records trimmed, streams restarted: no znode is readable in between."""
    on = protected_cluster()
    stranger = on.zookeeper.session(frozenset({("sasl", "eve"), ("digest", "eve:x")}))
    async with on.publishing() as process:
        on.filters.put("f", "/f", allowed=("ann",))
        for number in range(12):
            on.namenode.unlink("/f")
            if number == 6:
                await on.with_filter("g", "/f")
            await on.published()
            for path in on.zookeeper.tree.paths:
                with pytest.raises(NotAllowedError):
                    await stranger.get(path)
                with pytest.raises(NotAllowedError):
                    await stranger.commit([CreateOp(f"{path}/x", b"")])
        assert process.publisher.stats().output.acls_repaired == 0
        ann = on.zookeeper.session(frozenset({("sasl", "ann@R")}))
        readable = [
            path for path in on.zookeeper.tree.paths if path.startswith(f"{TOP}/f") or path.endswith("/f")
        ]
        assert len(readable) > 3
        for path in readable:
            await ann.get(path)
        with pytest.raises(NotAllowedError):
            await ann.get(f"{TOP}/g")
