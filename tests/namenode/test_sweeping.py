"""Marks are deleted an hour after their process is gone, and never while it runs."""

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.linearizable import MARKS
from nncache.coordination.zookeeper import CreateOp, DeleteOp
from nncache.namenode.node.sweeping import AFTER_S, Sweeper, alive


async def test_marks_go_an_hour_after_their_process() -> None:
    """The observer's own clock counts, and restarts when the process returns."""
    znodes = EmbeddedZnodes()
    names = ("there", "gone", "back")
    await znodes.commit([CreateOp(MARKS, b""), *(CreateOp(f"{MARKS}/{name}", b"") for name in names)])
    await znodes.commit(
        [*(CreateOp(f"{MARKS}/{name}/0", b"") for name in names), CreateOp(alive("there"), b"")]
    )
    now = 0.0
    sweeper = Sweeper(znodes, lambda: now)
    await sweeper.tick()
    now = AFTER_S
    await znodes.commit([CreateOp(alive("back"), b"")])
    await sweeper.tick()
    await znodes.commit([DeleteOp(alive("back"))])
    assert set(await znodes.children(MARKS)) == set(names)
    now = AFTER_S + 1
    await sweeper.tick()
    assert set(await znodes.children(MARKS)) == {"there", "back"}
