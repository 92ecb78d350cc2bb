"""A filter whose definition somebody has deleted is no filter less: those who have read it count on it."""

from coordination.zookeeper import Delete
from tests.invalidation import virtual_time
from tests.invalidation.publisher.stage import ZNODES, Stage, play


def test_gap_flush_without_its_definition_a_filter_is_taken_out_of_force_before_it_is_not_matched() -> None:
    """P3: a record of the generation that a cache knows tells what concerns the filters that it then read."""

    async def story(stage: Stage) -> None:
        stage.filters.put("a", "/a/*")
        async with stage.publisher():
            await stage.published()
            await virtual_time.until(lambda: "a" in stage.published_filters())
        known, former = stage.generation(), stage.published_filters()["a"]
        await stage.outsider.commit([Delete(ZNODES.definition("a"))])
        changed = stage.namenode.unlink("/a/x")
        stage.filters.takes_s = 0.5  # the publisher reads the edits before it knows the filters in HDFS
        async with stage.publisher():
            await stage.published()
            (record,) = (
                each for each in stage.cache_records() if each.link.previous < changed <= each.link.txid
            )
            assert record.generation > known
            await virtual_time.until(lambda: "a" in stage.published_filters())
            assert stage.published_filters()["a"].id != former.id

    play(story)
