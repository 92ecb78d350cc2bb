"""The storage of the cache: the tree, the memory bound, and the epoch of forgetting."""

from collections import deque
from dataclasses import dataclass
from itertools import islice

from cachetools import LRUCache

from nncache.cache.clock_eviction import Caller, ClockEviction
from nncache.cache.entries import Directory, Entry, EntryKind, Grant, Hit, Ticket
from nncache.cache.replies import SharedReplies, StoredReply
from nncache.cache.sizes import text_bytes
from nncache.cache.stats import CacheStats
from nncache.cache.tree import Tree, components
from nncache.cache.watches import PathWatches
from nncache.hadoop.paths import ROOT, depth, name, parent

RECENT_CHANGES = 20
"""Number of the latest effective changes that are kept in order, whatever the length of their paths."""

FORGOTTEN_BYTES = 512 * 1024
"""Memory bound of the changes kept for `nncache explain`: about 2,000 changes of ordinary paths."""
_ROOM = 15 / 16  # of the bounds: beyond it, newcomers have to be asked for to settle
_FORGOTTEN_OVERHEAD = 200  # of one, its numbers and its places in two tables


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A change that removed a path's entry or rights; for `nncache explain`."""

    path: str
    change: str
    txid: int | None
    at: float


def _forgotten_bytes(forgotten: Forgotten) -> int:
    return _FORGOTTEN_OVERHEAD + text_bytes(forgotten.path)


class CacheStore:
    """Entries, grants and tickets in a tree, bounded in bytes and number.

    Invariants:
        S1  An entry or grant is held by the ring if and only if a directory's table holds it.
        S2  `forget_epoch` increases whenever an entry or grant that may have been served becomes invalid.
        S3  After `evict` both bounds hold, except for questions on their way.
        S4  A hit is held by the ring if and only if it is in `held` and in the list of its entry. It is removed with
            the entry, immediately or by the next slices of `reclaim`.
    """

    def __init__(self, *, max_bytes: int, max_items: int) -> None:
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._ring: ClockEviction[Entry | Grant | Hit] = ClockEviction()
        self._replies = SharedReplies()
        self.tickets_taken = 0
        self._ticket_bytes = 0
        self._bereft: list[Entry] = []  # let go of, while hits of theirs are still held
        self.tree = Tree()
        self.watches = PathWatches()  # touched by what is forgotten
        self.forget_epoch = 0
        self.counters = CacheStats()
        self.hits_evicted = 0  # of those that were held for repeated requests
        self.entries = 0
        self.grants = 0
        self.held: dict[bytes, Hit] = {}  # for repeated requests, by their keys
        self.held_bytes = 0
        self.tickets = 0
        self.last_forgotten: LRUCache[str, Forgotten] = LRUCache(FORGOTTEN_BYTES, _forgotten_bytes)
        self.recent_changes: deque[Forgotten] = deque(maxlen=RECENT_CHANGES)  # the latest is the last

    def is_untouched(self, path: str) -> bool:
        """Whether a canonical path has neither an entry nor a question on its way."""
        directory = self.tree.find(parent(path) or ROOT)
        if directory is None:
            return True
        own_name = name(path)
        return own_name not in directory.entries and own_name not in directory.tickets

    def one_of(self, chance: float) -> Entry | Grant | Hit | None:
        """Return a held item, chosen by 0 <= `chance` < 1; None if the ring is empty."""
        return self._ring.at(int(chance * len(self._ring))) if len(self._ring) else None

    # -- tickets -------------------------------------------------------------------------------------

    def take_ticket(
        self, path: str, caller: Caller, now: float, *, joinable: bool, is_thorough: bool = False
    ) -> Ticket:
        """Record that the NameNode is about to be asked about a path."""
        directory = self.tree.ensure(parent(path) or ROOT)
        self.tickets_taken += 1
        ticket = Ticket(
            directory,
            path,
            name(path),
            caller,
            asked_at=now,
            number=self.tickets_taken,
            joinable=joinable,
            is_thorough=is_thorough,
        )
        directory.add_ticket(ticket)
        self.tickets += 1
        self._ticket_bytes += ticket.cost
        return ticket

    def return_ticket(self, ticket: Ticket) -> bool:
        """End a question; return whether its path has not become stale since the ticket was taken."""
        self.tickets -= 1
        self._ticket_bytes -= ticket.cost
        waiting = ticket.directory.tickets.get(ticket.name)
        if waiting is not None and ticket in waiting:
            waiting.remove(ticket)
            if not waiting:
                del ticket.directory.tickets[ticket.name]
        return not ticket.spoiled and self.tree.is_attached(ticket.directory)

    # -- keeping -------------------------------------------------------------------------------------

    def keep_entry(
        self, ticket: Ticket, reply: StoredReply, *, kind: EntryKind, replied_at: float, since_txid: int
    ) -> Entry:
        """Store the reply to the ticket's question; its path must have no entry yet."""
        shared_reply, shared = self._replies.share(reply, without_body=kind is EntryKind.MISSING)
        entry = Entry(
            ticket,
            shared_reply,
            self._ring.account(ticket.caller),
            kind=kind,
            replied_at=replied_at,
            since_txid=since_txid,
            shared=shared,
        )
        ticket.directory.add_entry(entry)
        self._ring.add(entry)
        self.entries += 1
        return entry

    def witness(self, entry: Entry, caller: Caller, replied_at: float, seen_as_of: float) -> None:
        """Record that the NameNode gave exactly this entry's reply to a caller."""
        before = entry.cost
        entry.witness(caller, replied_at, seen_as_of=seen_as_of)
        self._ring.recost(entry, before)

    def keep_grant(
        self, directory: Directory, caller: Caller, *, of_status: bool, proven_at: float, expires_at: float
    ) -> None:
        """Store a proven right; extend it if the caller already has a valid one."""
        held = directory.status_grants if of_status else directory.grants
        grant = held.get(caller)
        if grant is not None and grant.proven_at <= grant.account.ended_at:
            self.forget_grant(grant)
            grant = None
        if grant is not None:
            grant.expires_at = max(grant.expires_at, expires_at)
            return
        account = self._ring.account(caller)
        grant = Grant(directory, account, of_status=of_status, proven_at=proven_at, expires_at=expires_at)
        grant.table[account.caller] = grant
        self._ring.add(grant)
        self.grants += 1

    def hold(self, hit: Hit) -> None:
        """Hold a hit that was just looked up, until it is evicted, or it or its entry is forgotten."""
        if not (hit.entry.alive and hit.grant.alive):
            return
        if (older := self.held.get(hit.key)) is not None:
            self.forget_hit(older)
        self.held[hit.key] = hit
        hit.link()
        self._ring.add(hit)
        self.held_bytes += hit.cost
        self.evict()

    def is_alive(self, kept: Entry | Grant) -> bool:
        """Whether an entry or grant was neither forgotten nor detached with one of its directories."""
        return kept.alive and self.tree.is_attached(kept.directory)

    def is_good(self, grant: Grant) -> bool:
        """Whether a grant is alive, and its caller's rights were not ended after its proof."""
        return grant.proven_at > grant.account.ended_at and self.is_alive(grant)

    # -- forgetting ----------------------------------------------------------------------------------

    def forget_entry(self, entry: Entry) -> None:
        """Remove an entry."""
        del entry.directory.entries[entry.name]
        entry.directory.positives -= not entry.is_missing
        self._let_go(entry)
        self.forget_epoch += 1
        self.counters.forgotten += 1

    def forget_grant(self, grant: Grant) -> None:
        """Remove a grant."""
        del grant.table[grant.caller]
        self._let_go(grant)
        self.forget_epoch += 1
        self.counters.forgotten += 1

    def end_rights(self, caller: Caller, now: float) -> bool:
        """End all rights proven to a caller so far; return false if the caller has no account. Costs O(1).

        The ended grants use memory until their next lookup, or until they expire.
        """
        account = self._ring.find_account(caller)
        if account is not None:
            account.ended_at = now
            self.forget_epoch += 1
            self.counters.forgotten += 1
        return account is not None

    def forget_hit(self, hit: Hit) -> None:
        """Release a hit; its entry stays."""
        del self.held[hit.key]
        hit.unlink()
        self._ring.remove(hit)
        self.held_bytes -= hit.cost

    def forget_status(self, path: str, *, spares_directory: bool = False) -> None:
        """Remove the path's own entry, and spoil the questions about it. `spares_directory` keeps a directory's."""
        directory = self.tree.find(parent(path) or ROOT)
        if directory is None:
            return
        self._forget_status_in(directory, name(path), spares_directory=spares_directory)
        self.tree.prune(directory)

    def _forget_status_in(
        self, directory: Directory, own_name: str, *, spares_directory: bool = False
    ) -> None:
        for ticket in directory.tickets.pop(own_name, ()):
            ticket.spoiled = True
        entry = directory.entries.get(own_name)
        if entry is not None and not (spares_directory and entry.kind is EntryKind.DIRECTORY):
            self.forget_entry(entry)

    def forget_line(self, path: str, top: str) -> None:
        """Apply `forget_status` to the path and to its ancestors up to `top`.

        One walk from the root: O(length of the path).
        """
        directory = self.tree.root
        top_level = depth(top)
        if top_level == 0:
            self._forget_status_in(directory, name(ROOT))
        for level, own_name in enumerate(components(path), 1):
            if level >= top_level:
                self._forget_status_in(directory, own_name)
            child = directory.children.get(own_name)
            if child is None:
                break
            directory = child
        self.tree.prune(directory)

    def forget_subtree(self, path: str) -> None:
        """Remove the path's own entry and, in one step, all entries and rights at and below it."""
        if self.tree.detach(path):
            self.forget_epoch += 1
            self.counters.forgotten += 1
        self.forget_status(path)

    def forget_all(self) -> None:
        """Remove everything, and spoil every question on its way."""
        self.forget_subtree(ROOT)
        self._replies.clear()
        self.watches.invalidate_all()
        self.counters.flushes += 1

    def note_forgotten(self, forgotten: Forgotten) -> None:
        """Keep a change for `nncache explain`, within the bounds."""
        if _forgotten_bytes(forgotten) <= self.last_forgotten.maxsize:
            self.last_forgotten[forgotten.path] = forgotten
            self.recent_changes.append(forgotten)

    # -- memory --------------------------------------------------------------------------------------

    @property
    def bytes(self) -> int:
        """Memory of entries, grants, hits, directories and questions, detached ones included."""
        return self._ring.bytes + self.tree.bytes + self._ticket_bytes + self._replies.bytes

    def evict(self) -> None:
        """Return to within the bounds: free detached items first, then items that the ring chooses."""
        while (taken := self.bytes) > self._max_bytes or self._items > self._max_items:
            if self.has_detached:
                self.reclaim(1)
                continue
            item = self._ring.take()
            if item is None:  # only directories with questions under way are left
                return
            self.counters.evictions += 1
            if isinstance(item, Hit):
                self.forget_hit(item)
                self.hits_evicted += 1
                continue
            if isinstance(item, Entry):
                self.forget_entry(item)
            else:
                self.forget_grant(item)
            self.tree.prune(item.directory)
        if taken < self._max_bytes * _ROOM and self._items < self._max_items * _ROOM:
            self._ring.settle()

    @property
    def _items(self) -> int:
        return self.entries + self.grants

    @property
    def has_detached(self) -> bool:
        """Whether detached items wait to be freed."""
        return bool(self.tree.detached or self._bereft)

    def reclaim(self, max_items: int) -> bool:
        """Free up to `max_items` detached items; true while more are left."""
        left = max_items
        for item in islice(self.tree.dismantle(), left):
            left -= 1
            if item is not None:
                self._let_go(item)
        while self._bereft and left > 0:
            entry = self._bereft[-1]
            if entry.hits is None:
                self._bereft.pop()
            else:
                self.forget_hit(entry.hits)
            left -= 1
        return self.has_detached

    def _let_go(self, item: Entry | Grant) -> None:
        self._ring.remove(item)
        if isinstance(item, Grant):
            self.grants -= 1
            return
        self.entries -= 1
        if item.hits is not None:
            self.forget_hit(item.hits)  # most have one
            if item.hits is not None:
                self._bereft.append(item)

    def check(self) -> None:
        """Assert S1, S4, T2, T3 and the counts; for tests."""
        self.tree.check()
        self._ring.check()
        self._replies.check()
        stack = [self.tree.root, *self.tree.detached]
        entries = grants = 0
        hits = sum(len(held_hits(entry)) for entry in self._bereft)
        while stack:
            directory = stack.pop()
            stack.extend(directory.children.values())
            positives = sum(not entry.is_missing for entry in directory.entries.values())
            assert directory.positives == positives or not self.tree.is_attached(directory)
            for entry in directory.entries.values():
                assert entry in self._ring
                assert entry.alive
                assert all(hit in self._ring for hit in held_hits(entry))
                hits += len(held_hits(entry))
                entries += 1
            for table in (directory.grants, directory.status_grants):
                for grant in table.values():
                    assert grant in self._ring
                    assert grant.alive
                    grants += 1
        assert (entries, grants, hits) == (self.entries, self.grants, len(self.held))
        assert all(hit.key == key for key, hit in self.held.items())
        assert self.held_bytes == sum(hit.cost for hit in self.held.values())
        assert entries + grants + hits == len(self._ring)


def held_hits(entry: Entry) -> list[Hit]:
    """Return the held hits of an entry; for tests."""
    hits = []
    hit = entry.hits
    while hit is not None:
        hits.append(hit)
        hit = hit.after
    return hits
