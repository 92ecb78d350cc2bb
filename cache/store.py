"""What is kept, and how it is forgotten: tree, memory bound and count of forgettings. (cache/store.py)"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from cachetools import LRUCache

from cache.entries import Caller, Directory, Entry, Grant, Kind, Reply, Ticket
from cache.ring import Ring
from cache.stats import CacheCounters
from cache.tree import Tree
from hadoop.paths import ROOT, name, parent

# Bytes that CPython 3.11 takes for one of each, beside its text: measured by tests/cache/test_store.py.
ENTRY_BYTES = 900
GRANT_BYTES = 420
DIRECTORY_BYTES = 900
FORGOTTEN_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A change that cost something; for `nncache explain`."""

    change: str
    txid: int | None
    at: float


class Store:
    """Entries, grants and tickets in a tree, bounded in bytes and number.

    Invariants:
        S1  An entry or grant is held by the ring if and only if it stands in a directory's table.
        S2  `stamp` moves whenever something that may have been served stops being good.
        S3  After `evict`, what is kept is within both bounds.
    """

    def __init__(self, *, max_bytes: int, max_items: int) -> None:
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._ring: Ring[Entry | Grant] = Ring()
        self._numbers = 0  # tickets taken so far
        self.tree = Tree()
        self.stamp = 0
        self.counters = CacheCounters()
        self.entries = 0
        self.grants = 0
        self.tickets = 0
        self.last_forgotten: LRUCache[str, Forgotten] = LRUCache(FORGOTTEN_REMEMBERED)

    # -- tickets -------------------------------------------------------------------------------------

    def take_ticket(
        self, path: str, caller: Caller, now: float, *, joinable: bool, is_thorough: bool = False
    ) -> Ticket:
        """Take note that somebody is about to ask the NameNode about a path."""
        above = parent(path)
        assert above is not None
        directory = self.tree.ensure(above)
        self._numbers += 1
        ticket = Ticket(
            directory,
            path,
            name(path),
            caller,
            asked_at=now,
            number=self._numbers,
            joinable=joinable,
            is_thorough=is_thorough,
        )
        directory.tickets.setdefault(ticket.name, []).append(ticket)
        self.tickets += 1
        return ticket

    def return_ticket(self, ticket: Ticket) -> bool:
        """End a question; whether nothing that makes its path stale has happened since it was taken."""
        self.tickets -= 1
        waiting = ticket.directory.tickets.get(ticket.name)
        if waiting is not None and ticket in waiting:
            waiting.remove(ticket)
            if not waiting:
                del ticket.directory.tickets[ticket.name]
        return not ticket.spoiled and self.tree.is_attached(ticket.directory)

    # -- keeping -------------------------------------------------------------------------------------

    def keep_entry(
        self, ticket: Ticket, reply: Reply, *, kind: Kind, replied_at: float, since_txid: int
    ) -> Entry:
        """Keep a reply under the ticket with which it was asked for; there must be no entry yet."""
        directory = ticket.directory
        assert ticket.name not in directory.entries
        entry = Entry(
            directory,
            ticket.name,
            reply,
            kind=kind,
            number=ticket.number,
            replied_at=replied_at,
            since_txid=since_txid,
            cost=ENTRY_BYTES + len(ticket.name) + len(reply.body),
        )
        directory.entries[ticket.name] = entry
        directory.positives += not entry.is_missing
        self._ring.add(entry)
        self.entries += 1
        return entry

    def keep_grant(
        self,
        directory: Directory,
        table: dict[Caller, Grant],
        caller: Caller,
        *,
        proven_at: float,
        expires_at: float,
    ) -> None:
        """Keep a proven right; one that is there already only lives longer."""
        grant = table.get(caller)
        if grant is not None:
            grant.expires_at = max(grant.expires_at, expires_at)
            return
        grant = Grant(
            directory,
            table,
            caller,
            proven_at=proven_at,
            expires_at=expires_at,
            cost=GRANT_BYTES + len(caller),
        )
        table[caller] = grant
        self._ring.add(grant)
        self.grants += 1

    def is_alive(self, kept: Entry | Grant) -> bool:
        """Whether an entry or grant was neither forgotten nor cut off with a directory above it."""
        return kept.alive and self.tree.is_attached(kept.directory)

    # -- forgetting ----------------------------------------------------------------------------------

    def forget_entry(self, entry: Entry) -> None:
        """Forget one outcome."""
        del entry.directory.entries[entry.name]
        entry.directory.positives -= not entry.is_missing
        self._let_go(entry)
        self.stamp += 1
        self.counters.forgotten += 1

    def forget_grant(self, grant: Grant) -> None:
        """Forget one right."""
        del grant.table[grant.caller]
        self._let_go(grant)
        self.stamp += 1
        self.counters.forgotten += 1

    def forget_status(self, path: str) -> None:
        """Forget the path's own outcome, and spoil the questions about it."""
        above = parent(path)
        directory = self.tree.find(above) if above is not None else None
        if directory is None:
            return
        own_name = name(path)
        for ticket in directory.tickets.pop(own_name, ()):
            ticket.spoiled = True
        entry = directory.entries.get(own_name)
        if entry is not None:
            self.forget_entry(entry)
        self.prune(directory)

    def forget_subtree(self, path: str) -> None:
        """Forget the path's own outcome and, in one step, all outcomes and rights at and below it."""
        if self.tree.detach(path):
            self.stamp += 1
            self.counters.forgotten += 1
        self.forget_status(path)

    def forget_all(self) -> None:
        """Forget everything and spoil every question under way."""
        self.forget_subtree(ROOT)
        self.counters.flushes += 1

    def note_forgotten(self, path: str, forgotten: Forgotten) -> None:
        """Remember for a while what cost a path something."""
        self.last_forgotten[path] = forgotten

    # -- memory --------------------------------------------------------------------------------------

    @property
    def bytes(self) -> int:
        """What everything kept is reckoned to take, detached parts included."""
        return self._ring.bytes + self.tree.directories * DIRECTORY_BYTES

    def prune(self, directory: Directory) -> None:
        """Let go of a directory in which nothing is kept and about which nobody asks."""
        self.tree.prune(directory)

    def evict(self) -> None:
        """Come back within the bounds: first what was cut off, then what nobody asked for."""
        while self.bytes > self._max_bytes or len(self._ring) > self._max_items:
            if self.tree.has_detached:
                self.reclaim(1)
                continue
            item = self._ring.take()
            if item is None:  # only directories with questions under way are left
                return
            self.counters.evictions += 1
            if isinstance(item, Entry):
                self.forget_entry(item)
            else:
                self.forget_grant(item)
            self.prune(item.directory)

    def reclaim(self, max_items: int) -> bool:
        """Take up to `max_items` kept things that were cut off apart; true while more is left."""
        for item in islice(self.tree.dismantle(), max_items):
            self._let_go(item)
        return self.tree.has_detached

    def _let_go(self, item: Entry | Grant) -> None:
        self._ring.remove(item)
        item.alive = False
        if isinstance(item, Entry):
            self.entries -= 1
        else:
            self.grants -= 1

    def check(self) -> None:
        """Assert S1, T2, T3 and the counts; for tests."""
        self.tree.check()
        self._ring.check()
        stack = [self.tree.root, *self.tree.detached]
        entries = grants = 0
        while stack:
            directory = stack.pop()
            stack.extend(directory.children.values())
            positives = sum(not entry.is_missing for entry in directory.entries.values())
            assert directory.positives == positives or not self.tree.is_attached(directory)
            for entry in directory.entries.values():
                assert entry in self._ring
                assert entry.alive
                entries += 1
            for table in (directory.grants, directory.status_grants):
                for grant in table.values():
                    assert grant in self._ring
                    assert grant.alive
                    grants += 1
        assert (entries, grants) == (self.entries, self.grants)
        assert entries + grants == len(self._ring)
