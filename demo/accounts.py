"""The same reads counted by three who do not know each other. (demo/accounts.py)"""

from collections.abc import Iterable
from dataclasses import dataclass

from nncache.demo.figures import counted
from nncache.demo.sightings import Record
from nncache.demo.step import Step


@dataclass(frozen=True, slots=True)
class Answered:
    """The proxy's metrics: reads answered from memory, and with the reply to another's question."""

    hits: int
    joined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """What clients, proxy and NameNode counted in one stretch of time."""

    reads: int  # by the clients
    hits_seen: int  # of these, such as said in Cache-Status that they came from memory
    hits: int  # by the proxy
    joined: int  # by the proxy: reads that shared another's call
    calls: int  # by the NameNode: getFileInfo


def accounts(
    records: Iterable[Record], answered: tuple[Answered, Answered], calls: tuple[int, int]
) -> Accounts:
    """Return the accounts of a stretch, given each counter at its beginning and at its end."""
    sightings = [sighting for record in records for sighting in record.sightings]
    return Accounts(
        reads=len(sightings),
        hits_seen=sum(sighting.is_hit for sighting in sightings),
        hits=answered[1].hits - answered[0].hits,
        joined=answered[1].joined - answered[0].joined,
        calls=calls[1] - calls[0],
    )


def balance(books: Accounts, *, own_at_most: int) -> Step:
    """Judge whether the three agree: each read was a hit, shared a call, or was one.

    nncache may have calls of its own: before a creation through it the proxy may ask what is there and above, and
    a publisher that starts reads the filters.
    """
    own = books.calls - (books.reads - books.hits - books.joined)
    shared = f" + {books.joined:,} shared" if books.joined else ""
    sign = "-" if own >= 0 else "+"
    seen = (
        f"{counted(books.reads, 'read')} = {counted(books.hits, 'hit')}{shared} + {counted(books.calls, 'call')} "
        f"{sign} {abs(own):,}"
    )
    if books.hits != books.hits_seen:
        seen += f"; by Cache-Status {counted(books.hits_seen, 'hit')}"
    return Step(
        title="Three counts agree",
        expected="reads = hits + calls - those of its own",
        seen=seen,
        came_true=books.reads > 0 and books.hits == books.hits_seen and 0 <= own <= own_at_most,
    )
