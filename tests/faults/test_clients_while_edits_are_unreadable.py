"""The NameNode is well and cannot read its own edits, while clients read and directories come and go."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nncache.testbed import Cluster, ClusterSpec
from tests.channels import proxied
from tests.cluster import HADOOP, make_directory
from tests.patience import HANG_S
from tests.pollers import Pollers
from tests.world import MAX_STALENESS_S, Where, World

GLOBS = ("/t/*",)


@contextmanager
def unreadable_edits(cluster: Cluster) -> Iterator[None]:
    """Move the open segment out of the NameNode's sight; it goes on writing to it."""
    current = cluster.directory / "data" / cluster.namenodes[0].id / "current"
    (segment,) = current.glob("edits_inprogress_*")
    away = Path(cluster.directory / segment.name)
    segment.rename(away)
    try:
        yield
    finally:
        away.rename(segment)


def test_no_read_fails_and_none_is_older_than_the_bound() -> None:
    """FailToNameNode and Bounded: calls are forwarded while edits can't be read; then caching resumes."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_datanode=False)) as cluster:
        make_directory(cluster, "/t")
        with proxied(cluster, *GLOBS, roll_interval_s=0) as world:
            made, gone = "/t/made", "/t/gone"
            world.mkdirs(gone)
            asked = [(path, user) for path in (made, gone) for user in ("alice", "bob")]
            for path, user in asked:
                world.make_hit(path, user)
            with Pollers(world.proxy.address, asked) as pollers:
                pollers.await_hits(after=time.monotonic(), timeout_s=HANG_S)
                with unreadable_edits(cluster):
                    made_at, gone_at = _make_and_delete(world, made, gone)
                    world.proxy.await_gate(is_open=False)
                    for path, user in asked:
                        world.await_agreement(path, user, since=gone_at)
                pollers.await_hits(after=time.monotonic(), timeout_s=HANG_S)
            assert pollers.failed() == []
            assert pollers.older_than(MAX_STALENESS_S, path=made, changed_at=made_at, old_status=404) == []
            assert pollers.older_than(MAX_STALENESS_S, path=gone, changed_at=gone_at, old_status=200) == []


def _make_and_delete(world: World, made: str, gone: str) -> tuple[float, float]:
    """Change both behind the proxy's back; return when each change was acknowledged."""
    return (
        world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", made)).ended_at,
        world.must(world.call(Where.NAMENODE, "DELETE", "DELETE", gone)).ended_at,
    )
