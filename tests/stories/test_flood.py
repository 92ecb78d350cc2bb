"""A filter that matches more than it may, on a real cluster: its subscribers learn what they miss, and no other's."""

from itertools import islice, pairwise

import nncache
from nncache.hadoop.events import Create
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.service import NAMESERVICE, Service

FLOOD = 80
"""Events at once; 60 may be, at one a second in the long run."""

QUIET = 5


def test_a_flood_costs_the_subscribers_of_its_own_filter(cluster: Cluster, hdfs_directory: str) -> None:
    """Each event of it comes once and in order, or lies within transactions that are named; then all is as before."""
    service = Service.of(cluster)
    for name in ("loud", "quiet"):
        make_directory(cluster, f"{hdfs_directory}/{name}")
        service.add(name, f"{hdfs_directory}/{name}/*")
    with (
        service.publisher(max_events_per_s_per_filter=1) as publisher,
        service.subscriber("quiet"),  # both are published
    ):
        publisher.await_publishing()
        with events(service, "loud") as loud, events(service, "quiet") as quiet:
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


def events(service: Service, name: str) -> nncache.FilterEvents:
    """Return the events of a filter."""
    return nncache.subscribe(
        name, zookeeper=service.zookeeper, zookeeper_root=service.root, nameservice=NAMESERVICE
    )


def _next(following: nncache.FilterEvents) -> tuple[str | nncache.MissingEventsError, tuple[int, int]]:
    """Return the path of the next event, or what is missing, each with its first and last transaction."""
    try:
        batch = next(following)
    except nncache.MissingEventsError as exc:
        return exc, (exc.first_txid or 0, exc.last_txid or 0)
    return _path(batch), (batch.txid, batch.txid)


def _path(batch: nncache.EventBatch | nncache.FilterModified) -> str:
    (event,) = batch.events
    assert isinstance(event, Create)
    return event.path
