"""The contents of the cache: outcomes and rights, each proven by the NameNode.

An entry or grant belongs to one `Directory` of the tree. It is valid only while that directory is attached to the
root; see `cache/tree.py`.
"""

import hashlib
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any, Final, NoReturn

from nncache.cache.clock_eviction import Account, Caller, EvictableItem
from nncache.cache.replies import Shared, StoredReply, reply_bytes
from nncache.cache.sizes import (
    ENTRY_BYTES,
    GRANT_BYTES,
    HIT_BYTES,
    TICKET_BYTES,
    WITNESS_BYTES,
    WITNESSES_BYTES,
    blob_bytes,
    text_bytes,
)

MAX_WITNESSES: Final = 100  # of one entry; each counts for what it takes


class _Nothing(dict[Any, Any]):
    """An empty, immutable table that all directories without items share."""

    def __setitem__(self, key: str, value: object) -> NoReturn:
        raise TypeError(f"the shared empty table cannot take {key!r}: {value!r}")

    def setdefault(self, key: str, default: object = None) -> NoReturn:
        self[key] = default


NOTHING: Final = _Nothing()
"""Stands in for each empty table of a directory: an empty dict takes 64 bytes, one with an item 232."""


class EntryKind(Enum):
    """The kind of path that a cached reply reports."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"


class Directory:
    """One directory: the known outcomes for its children, and the callers who may traverse it.

    The root also holds its own outcome and questions, under the name "".
    `status_grants` are rights to see the directory's own status (the root's, and with `grants = per_path`).
    `positives` counts the entries that prove that the directory exists.
    """

    __slots__ = ("children", "entries", "grants", "name", "parent", "positives", "status_grants", "tickets")

    def __init__(self, parent: "Directory | None", name: str) -> None:
        self.parent = parent
        self.name = name
        self.children: dict[str, Directory] = NOTHING
        self.entries: dict[str, Entry] = NOTHING
        self.grants: dict[Caller, Grant] = NOTHING
        self.status_grants: dict[Caller, Grant] = NOTHING
        self.tickets: dict[str, list[Ticket]] = NOTHING
        self.positives = 0

    def add_child(self, name: str) -> "Directory":
        """Create a child directory node."""
        if self.children is NOTHING:
            self.children = {}
        child = self.children[name] = Directory(self, name)
        return child

    def add_entry(self, entry: "Entry") -> None:
        """Add the outcome of a child; it must have none yet."""
        assert entry.name not in self.entries
        if self.entries is NOTHING:
            self.entries = {}
        self.entries[entry.name] = entry
        self.positives += not entry.is_missing

    def add_ticket(self, ticket: "Ticket") -> None:
        """Record a question on its way."""
        if self.tickets is NOTHING:
            self.tickets = {}
        self.tickets.setdefault(ticket.name, []).append(ticket)

    def table(self, *, of_status: bool) -> "dict[Caller, Grant]":
        """Return the table of rights: to see the directory's own status (`of_status`), or to traverse it."""
        if of_status:
            if self.status_grants is NOTHING:
                self.status_grants = {}
            return self.status_grants
        if self.grants is NOTHING:
            self.grants = {}
        return self.grants

    def is_bare(self) -> bool:
        """Whether the node can be removed: it has no child, no outcome, no grant and no question."""
        return not (self.children or self.entries or self.grants or self.status_grants or self.tickets)


class Entry(EvictableItem):
    """The outcome for one path; its memory is charged to the caller for whom the NameNode was asked."""

    __slots__ = (
        "_witnesses",
        "confirmed_at",
        "directory",
        "hits",
        "kind",
        "name",
        "number",
        "replied_at",
        "reply",
        "shared",
        "since_txid",
    )

    def __init__(
        self,
        ticket: "Ticket",
        reply: StoredReply,
        account: Account,
        *,
        kind: EntryKind,
        replied_at: float,
        since_txid: int,
        shared: Shared = Shared.NOTHING,
    ) -> None:
        super().__init__(account)
        self.directory = ticket.directory
        self.name = ticket.name
        self.number = ticket.number  # a reply that was asked for earlier never replaces it
        self.reply = reply
        self.kind = kind
        self.replied_at = replied_at  # must be covered before others than the witnesses may see it
        self.confirmed_at = (
            replied_at  # when the NameNode last gave it and, of a file, isFileClosed was asked
        )
        self.since_txid = since_txid  # last transaction applied when it was kept; none since changed the path
        self.shared = shared  # what of the reply other entries have as well
        self._witnesses: set[bytes] | None = None  # digests; None: just the caller of the account
        self.hits: Hit | None = None  # the first of those that are held for repeated requests

    @property
    def cost(self) -> int:
        """Memory in bytes, without the hits."""
        cost = ENTRY_BYTES + text_bytes(self.name) + reply_bytes(self.reply, self.shared)
        if self._witnesses is not None:
            cost += WITNESSES_BYTES + WITNESS_BYTES * len(self._witnesses)
        return cost

    def has_witness(self, caller: Caller) -> bool:
        """Whether the caller is a witness: the NameNode itself gave them this reply."""
        if self._witnesses is None:
            return caller == self.account.caller
        return _digest(caller) in self._witnesses

    def witness(self, caller: Caller, replied_at: float, *, seen_as_of: float) -> None:
        """Record that the NameNode gave exactly this reply to a caller. Changes `cost`.

        Once coverage has passed the replies to all witnesses, it has passed their grants too, and the set is emptied.
        So it holds the witnesses since the last probe only. While nothing is covered its size is bounded: callers
        who are not in it wait for coverage.
        """
        known = {_digest(self.account.caller)} if self._witnesses is None else self._witnesses
        if seen_as_of >= self.confirmed_at or len(known) >= MAX_WITNESSES:
            known = set()
        if not known and caller == self.account.caller:
            self._witnesses = None
        else:
            self._witnesses = known | {_digest(caller)}
        self.confirmed_at = max(self.confirmed_at, replied_at)

    @property
    def is_missing(self) -> bool:
        """Whether the reply is a 404. Its body quotes the path as the request spelled it."""
        return self.kind is EntryKind.MISSING

    def says_the_same(self, reply: StoredReply) -> bool:
        """Whether a reply has the same outcome. The text of a 404 depends on the request, and is not compared."""
        if self.reply.status != reply.status:
            return False
        return self.is_missing or self.reply.body == reply.body


def _digest(caller: Caller) -> bytes:
    """Return a digest of the caller, so that a witness takes the same memory whatever the name's length."""
    return hashlib.blake2b(caller.encode(errors="surrogatepass"), digest_size=20).digest()


class Grant(EvictableItem):
    """A caller's right to traverse a directory, proven by the NameNode to that caller.

    The status of the root and, with `grants = per_path`, of every directory has separate grants, which that directory
    itself holds. `table` is the dict that holds this grant.
    """

    __slots__ = ("directory", "expires_at", "proven_at", "table")

    def __init__(
        self, directory: Directory, account: Account, *, of_status: bool, proven_at: float, expires_at: float
    ) -> None:
        super().__init__(account)
        self.directory = directory
        self.table = directory.table(of_status=of_status)
        self.proven_at = proven_at
        self.expires_at = expires_at

    @property
    def cost(self) -> int:
        """Memory in bytes; the account holds the caller's name."""
        return GRANT_BYTES

    @property
    def caller(self) -> Caller:
        """The caller who has the right."""
        return self.account.caller


@dataclass(slots=True, eq=False)
class Ticket:
    """A question on its way to the NameNode. A change of its path spoils it; then its reply is not kept.

    It refers to its directory node. A node that was evicted or detached and created again is another object, so no
    change is missed (guarantee NoLateFill). A thorough question calls isFileClosed even if the status is cached:
    the caller demands it (`Cache-Control: no-cache`), or can be served only as a witness of the whole answer.
    """

    directory: Directory
    path: str
    name: str
    caller: Caller
    _: KW_ONLY
    asked_at: float
    number: int
    joinable: bool  # others may have the reply
    is_thorough: bool = False
    spoiled: bool = False

    @property
    def cost(self) -> int:
        """Memory in bytes."""
        return TICKET_BYTES + text_bytes(self.path) + text_bytes(self.name)

    def finds_unchanged(self, reply: StoredReply) -> bool:
        """Whether the new status equals the cached one, so that isFileClosed need not be called.

        The file was closed when the status was cached. To open it is a change, which spoils this ticket.
        """
        if self.is_thorough:
            return False
        entry = self.directory.entries.get(self.name)
        return entry is not None and entry.kind is EntryKind.FILE and entry.says_the_same(reply)


class Hit(EvictableItem):
    """An entry and the grant under which one caller may see it; charged to that caller's account.

    A shell may hold it for repeated requests (`CacheStore.hold`), under its own key; a subclass states its cost.
    The hits of one entry form a linked list, and are forgotten with the entry. `forget_epoch` is the store's epoch at
    which entry and grant were last valid: while the store is still at that epoch, they need no check.
    """

    __slots__ = ("after", "before", "entry", "expires_at", "forget_epoch", "grant", "key")

    def __init__(
        self, entry: Entry, grant: Grant, *, forget_epoch: int, expires_at: float, key: bytes = b""
    ) -> None:
        super().__init__(grant.account)
        self.key = key
        self.entry = entry
        self.grant = grant
        self.forget_epoch = forget_epoch
        self.expires_at = expires_at
        self.before: Hit | None = None  # its neighbour in the chain
        self.after: Hit | None = None  # the same

    @property
    def cost(self) -> int:
        """Memory in bytes while it is held."""
        return HIT_BYTES + blob_bytes(self.key)

    def link(self) -> None:
        """Insert this hit into the list of the entry's hits."""
        self.after = self.entry.hits
        if self.after is not None:
            self.after.before = self
        self.entry.hits = self

    def unlink(self) -> None:
        """Remove this hit from the list of the entry's hits."""
        if self.before is None:
            self.entry.hits = self.after
        else:
            self.before.after = self.after
        if self.after is not None:
            self.after.before = self.before
        self.before = self.after = None
