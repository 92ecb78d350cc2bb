"""An output and a source of edits without servers."""

import asyncio
from collections.abc import Mapping

from nncache.hadoop.events import Event, EventBatch, Unlink
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    FilterPosition,
    InotifyEventOutputStream,
    OutputSetup,
    Publication,
    PublishedState,
)
from nncache.invalidation.stats import ChannelStats


class FakeOutput(InotifyEventOutputStream):
    """An output that records its calls."""

    def __init__(self, setup: OutputSetup | None = None) -> None:
        self.state = PublishedState(txid=None)
        self.reported: list[Publication | FilterChange | int] = []  # also transactions of new chains
        self.faults: list[Exception] = []  # raised by the next writes
        self.takes_s = 0.003

    @property
    def waiting_for(self) -> str:
        """The name of another publisher that leads: none."""
        return ""

    @property
    def publications(self) -> list[Publication]:
        """The publications so far."""
        return [each for each in self.reported if isinstance(each, Publication)]

    async def open(self, identity: PublisherIdentity, block_pool: str) -> PublishedState:
        """Open the output."""
        return self.state

    async def keep(self) -> None:
        """Wait for ever: no other publisher competes."""
        await asyncio.Event().wait()

    async def begin(self, txid: int) -> None:
        """Record the call."""
        await self._write(txid)

    async def publish(self, publication: Publication) -> int:
        """Record the call."""
        return await self._write(publication)

    async def change_filters(self, change: FilterChange) -> int:
        """Record the call."""
        return await self._write(change)

    async def close(self, *, give_up: bool) -> None:
        """Close the output."""

    async def _write(self, what: Publication | FilterChange | int) -> int:
        await asyncio.sleep(self.takes_s)
        if self.faults:
            raise self.faults.pop(0)
        self.reported.append(what)
        return 1


class ScriptedSource:
    """A source that plays a script: it returns reads, raises errors, and waits for numbers of seconds."""

    term = 1

    def __init__(self, *script: EditsRead | Exception | float) -> None:
        self.script = list(script)
        self.starts: list[
            EditsRead | Exception | None
        ] = []  # results of the next starts: a first read, an error
        self.started: list[int | None] = []  # the transactions passed to `start`
        self.wakes = 0

    async def start(self, after_txid: int | None) -> None:
        """Begin a run."""
        self.started.append(after_txid)
        match self.starts.pop(0) if self.starts else None:
            case Exception() as error:
                raise error
            case EditsRead() as first:
                self.script.insert(0, first)
            case None:
                pass

    def stop(self) -> None:
        """End the run."""

    async def shut_down(self) -> None:
        """Do nothing."""

    async def read(self) -> EditsRead:
        """Return the next read of the script; wait for ever at its end."""
        while self.script:
            match self.script.pop(0):
                case EditsRead() as found:
                    return found
                case Exception() as error:
                    raise error
                case pause_s:
                    await asyncio.sleep(pause_s)
        await asyncio.sleep(3600)
        raise AssertionError("the script has ended")

    def wake(self) -> None:
        """Count the call."""
        self.wakes += 1

    def stats(self) -> ChannelStats:
        """Return empty figures."""
        return ChannelStats()


def published(name: str, glob: str = "/f", **facts: object) -> PublishedFilter:
    """Return a published filter; by default its id is derived from its name."""
    found: dict[str, object] = {
        "id": f"id-{name}",
        "since_txid": 0,
        "owner": "joe",
        "allowed_subscribers": (),
    } | facts
    return PublishedFilter(name=name, path_glob=glob, **found)  # type: ignore[arg-type]  # of the right types


def positions(globs: Mapping[str, str], txid: int = 0, **facts: object) -> dict[str, FilterPosition]:
    """Return filters in force whose records reach this transaction."""
    return {name: FilterPosition(published(name, glob, **facts), txid) for name, glob in globs.items()}


def batch(txid: int, *events: Event | str) -> EventBatch:
    """Return a transaction; a text stands for the deletion of that path."""
    return EventBatch(txid, tuple(Unlink(event) if isinstance(event, str) else event for event in events))


def read(through_txid: int, *batches: EventBatch) -> EditsRead:
    """Return one read of these transactions."""
    return EditsRead(batches, through_txid, None)
