"""Applications that follow a filter with `nncache.subscribe`, on a real cluster."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import islice
from typing import Any

import pytest

import nncache
from nncache.hadoop.events import Create
from nncache.portal import Portal
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.patience import HANG_S
from tests.service import NAMESERVICE, Service


@pytest.fixture
def service(cluster: Cluster, hdfs_directory: str) -> Iterator[Service]:
    """A publisher with one filter, "f"."""
    service = Service.of(cluster)
    service.add("f", f"{hdfs_directory}/*")
    with service.publisher() as publisher:
        publisher.await_publishing()
        with service.subscriber("f"):  # it is published
            yield service


def events(service: Service, resume: nncache.EventsPosition | None = None) -> nncache.FilterEvents:
    """Return the events of the filter."""
    return nncache.subscribe(
        "f",
        resume=resume,
        zookeeper=service.zookeeper,
        zookeeper_root=service.root,
        nameservice=NAMESERVICE,
    )


def test_a_blocking_program_resumes_and_sees_a_gap(
    service: Service, cluster: Cluster, hdfs_directory: str
) -> None:
    """Each transaction once and in order, from where the block begins; a gap is raised, and then it goes on."""
    with events(service) as following:
        for name in ("b", "c", "d"):
            make_directory(cluster, f"{hdfs_directory}/{name}")
        b, c = islice(following, 2)
        assert [_path(b), _path(c)] == [f"{hdfs_directory}/b", f"{hdfs_directory}/c"]
        assert following.position is not None
        assert following.position.txid == c.txid > b.txid
        position = nncache.EventsPosition.parse(str(following.position))
    with pytest.raises(RuntimeError, match="inside of a block"):
        next(following)
    with events(service, position) as following:
        assert _path(next(following)) == f"{hdfs_directory}/d"
    with events(service, nncache.EventsPosition(10**12)) as following:
        with pytest.raises(nncache.MissingEventsError, match="another log"):
            next(following)
        make_directory(cluster, f"{hdfs_directory}/e")
        assert _path(next(following)) == f"{hdfs_directory}/e"


def test_a_modified_filter_keeps_its_subscribers(
    service: Service, cluster: Cluster, hdfs_directory: str
) -> None:
    """They are told from which transaction on it has another glob, whoever comes later, too."""
    with events(service) as following, service.subscriber("f") as watching:
        make_directory(cluster, f"{hdfs_directory}/a")
        assert _path(next(following)) == f"{hdfs_directory}/a"
        position = following.position
        service.modify("f", glob=f"{hdfs_directory}/*/x")
        reported = next(following)
        assert isinstance(reported, nncache.FilterModified)
        assert (reported.glob_before, reported.glob) == (f"{hdfs_directory}/*", f"{hdfs_directory}/*/x")
        make_directory(cluster, f"{hdfs_directory}/b")
        make_directory(cluster, f"{hdfs_directory}/a/x")
        last = next(following)
        assert _path(last) == f"{hdfs_directory}/a/x"
        assert last.txid > reported.txid
        watching.process.await_that(
            lambda: (
                [line["now"] for line in watching.lines() if line.get("modifiedAfter") == reported.txid]
                == [{"pathGlob": reported.glob, "owner": reported.owner}]
            ),
            "and does not say that the filter was modified",
        )
    with events(service, position) as following:
        assert next(following) == reported
        assert next(following) == last


def test_an_interrupt_costs_no_batch(
    service: Service, cluster: Cluster, hdfs_directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C when the batch is there already: it is still the next one, and the position is before it."""
    wait_for = Portal.wait_for

    def interrupted(portal: Portal, work: Coroutine[Any, Any, object]) -> None:
        wait_for(portal, work)
        raise KeyboardInterrupt

    with events(service) as following:
        before = following.position
        make_directory(cluster, f"{hdfs_directory}/a")
        with monkeypatch.context() as patch:
            patch.setattr(Portal, "wait_for", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(following)
        assert following.position == before
        assert _path(next(following)) == f"{hdfs_directory}/a"
        assert following.position != before


async def test_a_coroutine_reads_the_same(service: Service, cluster: Cluster, hdfs_directory: str) -> None:
    """And may be cancelled while it waits."""
    async with events(service) as following:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(following.__anext__())
            await asyncio.sleep(0.2)
            waiting.cancel()
        await asyncio.to_thread(make_directory, cluster, f"{hdfs_directory}/a")
        async with asyncio.timeout(HANG_S):
            async for batch in following:
                assert _path(batch) == f"{hdfs_directory}/a"
                break


def test_an_unknown_filter_is_named(service: Service) -> None:
    """With those that there are, before the block begins."""
    following = nncache.subscribe(
        "nothing", zookeeper=service.zookeeper, zookeeper_root=service.root, nameservice=NAMESERVICE
    )
    with pytest.raises(nncache.UnknownFilterError, match=r"there are: f$"):
        following.__enter__()


def _path(batch: nncache.EventBatch | nncache.FilterModified) -> str:
    (event,) = batch.events
    assert isinstance(event, Create)
    return event.path
