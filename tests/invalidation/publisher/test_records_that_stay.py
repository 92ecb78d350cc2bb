"""What other clients put below old records neither stops publishing nor is kept for ever."""

import pytest

from nncache.coordination.zookeeper import Create
from tests.invalidation.publisher.output_scene import POOL, US, Scene, events, play
from tests.invalidation.publisher.stage import ZNODES


def test_what_others_put_below_an_old_record_goes_with_it() -> None:
    """A record has no children of ours; trimming it goes on, and in the same writes as ever."""

    async def story(on: Scene) -> None:
        output = await on.begun(10, "f")
        await output.publish(events(11, "f"))
        for path in (f"{ZNODES.record(ZNODES.cache, 11)}/x", f"{ZNODES.record(ZNODES.stream('f'), 11)}/x"):
            await on.outsider.commit([Create(path, b"")])
        for txid in range(12, 20):
            await output.publish(events(txid, "f"))
        for stream in (ZNODES.cache, ZNODES.stream("f")):
            assert sorted(on.zookeeper.tree.children(stream)) == ["16", "17", "18", "19"]
        assert (await on.reopened()).txid == 19

    play(story)


def test_a_record_below_which_something_is_hidden_stays_and_costs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Publishing goes on, in this run and the next; it is logged once."""

    async def story(on: Scene) -> None:
        output = await on.begun(10, "f")
        await output.publish(events(11, "f"))
        record = ZNODES.record(ZNODES.cache, 11)
        await on.outsider.commit([Create(f"{record}/x", b"")])
        on.zookeeper.tree.forbidden.add(record)
        for txid in range(12, 20):
            await output.publish(events(txid, "f"))
        assert sorted(on.zookeeper.tree.children(ZNODES.cache)) == ["11", "16", "17", "18", "19"]
        successor = on.output()
        assert (await successor.open(US, POOL)).txid == 19
        for txid in range(20, 24):
            await successor.publish(events(txid, "f"))
        assert sorted(on.zookeeper.tree.children(ZNODES.cache)) == ["11", "20", "21", "22", "23"]

    play(story)
    said = [each.getMessage() for each in caplog.records if "/11" in each.getMessage()]
    assert len(said) == 2, "once for each process"
