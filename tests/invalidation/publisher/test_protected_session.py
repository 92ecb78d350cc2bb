"""Everything that a publisher makes has its ACL, whatever part of it makes it."""

import pytest

from nncache.coordination.acl import ALL, OPEN, Acl, AclEntry, is_same
from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import Create, SetData
from nncache.invalidation.publisher.protected_session import ProtectedSession
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.publisher.stage import ZNODES, Stage, play_protected
from tests.invalidation.virtual_time import clock

OURS = frozenset({("sasl", "us")})
TOP = ZNODES.namespace
CLOSED: Acl = (AclEntry("auth", "", ALL),)


def test_what_is_made_has_the_acl_of_its_path_and_all_else_is_as_before() -> None:
    """Also what is made on the way to it; an ACL that is given is kept."""

    async def story() -> None:
        server = FakeZooKeeper(clock)
        async with ProtectedSession(
            server.session(OURS), lambda path: OPEN if path == "/open" else CLOSED
        ) as ours:
            await ours.wait_connected(1.0)
            await ours.ensure("/a/b")
            given = (AclEntry("sasl", "them", ALL),)
            await ours.commit([Create("/open", b""), Create("/c", b""), Create("/g", b"", acl=given)])
            await ours.commit([SetData("/c", b"x")])
            found = {path: server.tree.acl(path).acl for path in server.tree.paths}
            own = (AclEntry("sasl", "us", ALL),)
            assert found == {"/a": own, "/a/b": own, "/c": own, "/g": given, "/open": OPEN}
            assert (ours.is_connected, ours.connection_id, ours.session_id) == (True, 1, ours.session_id)
            assert ours.stats().writes == 4
            assert (await ours.get("/c")).data == b"x"
            assert (await ours.get_many(["/c", "/d"]))[1] is None
            assert set(await ours.children("/")) == {"a", "c", "g", "open"}
            read = await ours.acl("/c")
            await ours.set_acl("/c", OPEN, read.version)
            assert is_same(server.tree.acl("/c").acl, OPEN)
            assert await ours.watch("/c").read() is not None

    virtual_time.run(story())


def test_no_znode_of_a_publisher_is_open_to_strangers_at_any_time() -> None:
    """Filters come, change and go, records are trimmed, streams begin again; nothing is readable meanwhile."""

    async def story(on: Stage) -> None:
        stranger = on.zookeeper.session(frozenset({("sasl", "eve"), ("digest", "eve:x")}))
        async with on.publisher() as process:
            await on.with_filter("f", "/f")
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
                        await stranger.commit([Create(f"{path}/x", b"")])
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

    play_protected(story)
