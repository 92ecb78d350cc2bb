"""Applications that follow a filter with `nncache.subscribe`, on a real cluster."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import islice, pairwise
from typing import Any

import pytest

import nncache
from nncache.client.portal import BlockingPortal
from nncache.hadoop.events import Create
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.patience import HANG_S
from tests.service import NAMESERVICE, InotifyService


@pytest.fixture
def service(cluster: Cluster, hdfs_directory: str) -> Iterator[InotifyService]:
    """A publisher with one filter, "f"."""
    service = InotifyService.of(cluster)
    service.add("f", f"{hdfs_directory}/*")
    with service.publisher() as publisher:
        publisher.await_publishing()
        with service.subscriber("f"):  # waits until the filter is published
            yield service


def events(
    service: InotifyService, resume: nncache.EventsPosition | None = None, *, name: str = "f"
) -> nncache.FilterEvents:
    """Return the events of a filter."""
    return nncache.subscribe(
        name, resume=resume, zookeeper=service.zookeeper, zookeeper_root=service.root, nameservice=NAMESERVICE
    )


def test_a_blocking_program_resumes_and_sees_a_gap(
    service: InotifyService, cluster: Cluster, hdfs_directory: str
) -> None:
    """Each transaction comes once, in order, from the block's start. A gap is an exception; then events continue."""
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
    service: InotifyService, cluster: Cluster, hdfs_directory: str
) -> None:
    """They learn from which transaction on the glob differs, even if they resume later."""
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
    service: InotifyService, cluster: Cluster, hdfs_directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C with the batch already received: it is still the next batch, and the position is before it."""
    wait_for = BlockingPortal.wait_for

    def interrupted(portal: BlockingPortal, work: Coroutine[Any, Any, object]) -> None:
        wait_for(portal, work)
        raise KeyboardInterrupt

    with events(service) as following:
        before = following.position
        make_directory(cluster, f"{hdfs_directory}/a")
        with monkeypatch.context() as patch:
            patch.setattr(BlockingPortal, "wait_for", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(following)
        assert following.position == before
        assert _path(next(following)) == f"{hdfs_directory}/a"
        assert following.position != before


async def test_a_coroutine_reads_the_same(
    service: InotifyService, cluster: Cluster, hdfs_directory: str
) -> None:
    """A waiting read may be cancelled."""
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


def test_an_unknown_filter_is_named(service: InotifyService) -> None:
    """The error lists the existing filters, before the block begins."""
    with pytest.raises(nncache.UnknownFilterError, match=r"there are: f$"):
        events(service, name="nothing").__enter__()


# ---- a filter that matches more events than its limit -------------------------------------------------

FLOOD = 80
"""Number of events in a burst; 60 are allowed, with one per second on average."""

QUIET = 5


def test_a_flood_costs_the_subscribers_of_its_own_filter(cluster: Cluster, hdfs_directory: str) -> None:
    """Each event comes once and in order, or lies within a reported gap. Then all is normal again."""
    service = InotifyService.of(cluster)
    for name in ("loud", "quiet"):
        make_directory(cluster, f"{hdfs_directory}/{name}")
        service.add(name, f"{hdfs_directory}/{name}/*")
    with (
        service.publisher(max_events_per_s_per_filter=1) as publisher,
        service.subscriber("quiet"),  # waits until both are published
    ):
        publisher.await_publishing()
        with events(service, name="loud") as loud, events(service, name="quiet") as quiet:
            made = [f"{hdfs_directory}/loud/{number}" for number in range(FLOOD)]
            for number, path in enumerate(made):
                make_directory(cluster, path)
                if number < QUIET:
                    make_directory(cluster, f"{hdfs_directory}/quiet/{number}")
            found: list[str | nncache.MissingEventsError] = []
            txids: list[tuple[int, int]] = []
            while not found or found[-1] != made[-1]:
                what, txids_of = _next(loud)
                found.append(what)
                txids.append(txids_of)
                if isinstance(what, nncache.MissingEventsError):
                    made.append(f"{hdfs_directory}/loud/{len(made)}")
                    make_directory(cluster, made[-1])
            assert [_path(each) for each in islice(quiet, QUIET)] == [
                f"{hdfs_directory}/quiet/{number}" for number in range(QUIET)
            ]
        seen = [each for each in found if isinstance(each, str)]
        over_limit = publisher.metrics()["nncache_publisher_events_over_limit_total"]
    assert 0 < over_limit <= len(made) - len(seen), (
        "behind many gaps in a row a subscription goes on from now"
    )
    assert all(before[1] < after[0] for before, after in pairwise(txids)), "in order, and nothing twice"
    assert [path for path in made if path in set(seen)] == seen
    assert made[:60] == seen[:60], "what it may have at once"
    gaps = [each for each in found if not isinstance(each, str)]
    assert "the filter matches more than 1 events a second" in str(gaps[0])
    missed = sum(
        last - first + 1
        for each, (first, last) in zip(found, txids, strict=True)
        if not isinstance(each, str)
    )
    assert missed >= len(made) - len(seen)


def _next(following: nncache.FilterEvents) -> tuple[str | nncache.MissingEventsError, tuple[int, int]]:
    """Return the path of the next event, or a gap's exception, each with its first and last transaction."""
    try:
        batch = next(following)
    except nncache.MissingEventsError as exc:
        return exc, (exc.first_txid or 0, exc.last_txid or 0)
    return _path(batch), (batch.txid, batch.txid)


def _path(batch: nncache.EventBatch | nncache.FilterModified) -> str:
    (event,) = batch.events
    assert isinstance(event, Create)
    return event.path
