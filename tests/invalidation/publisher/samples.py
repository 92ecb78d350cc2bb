"""Small values that tests of the publisher are made from."""

from collections.abc import Mapping

from nncache.hadoop.events import Event, EventBatch, Unlink
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.edits.source import EditsRead
from nncache.invalidation.publisher.output_stream import FilterPosition


def published(name: str, glob: str = "/f", **facts: object) -> PublishedFilter:
    """Return a filter as it is published; its id is its name's unless it is said."""
    found: dict[str, object] = {
        "id": f"id-{name}",
        "since_txid": 0,
        "owner": "joe",
        "allowed_subscribers": (),
    } | facts
    return PublishedFilter(name=name, path_glob=glob, **found)  # type: ignore[arg-type]  # of the right types


def positions(globs: Mapping[str, str], txid: int = 0, **facts: object) -> dict[str, FilterPosition]:
    """Return filters in force whose records go up to this transaction."""
    return {name: FilterPosition(published(name, glob, **facts), txid) for name, glob in globs.items()}


def batch(txid: int, *events: Event | str) -> EventBatch:
    """Return a transaction; a text stands for the removal of that path."""
    return EventBatch(txid, tuple(Unlink(event) if isinstance(event, str) else event for event in events))


def read(through_txid: int, *batches: EventBatch) -> EditsRead:
    """Return what was read in one go."""
    return EditsRead(batches, through_txid, None)
