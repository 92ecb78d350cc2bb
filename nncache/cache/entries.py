"""What the cache holds: outcomes and rights, each proven by the NameNode.

An entry or grant lives in one `Directory` of the tree and is good only as long as that directory is
still attached to the root; see `cache/tree.py`.
"""

import hashlib
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any, Final, NoReturn

from nncache.cache.clock_eviction import Account, Caller, EvictableItem
from nncache.cache.replies import Reply, Shared, reply_bytes
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
    """An empty table that stays so, in place of one of its own for each directory."""

    def __setitem__(self, key: str, value: object) -> NoReturn:
        raise TypeError(f"the shared empty table cannot take {key!r}: {value!r}")

    def setdefault(self, key: str, default: object = None) -> NoReturn:
        self[key] = default


NOTHING: Final = _Nothing()
"""What a directory's tables are until they have an item: an empty dict takes 64 bytes, one with an item 232."""


class EntryKind(Enum):
    """What a kept reply says about its path."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"


class Directory:
    """One directory: what is known of its children, and who may traverse it.

    The root holds its own outcome and questions, under the name "".
    `status_grants` are rights to see the directory's own status (the root's, and with `grants = per_path`).
    `positives` counts the entries here that prove the directory to exist.
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
        """Make a directory below this one."""
        if self.children is NOTHING:
            self.children = {}
        child = self.children[name] = Directory(self, name)
        return child

    def add_entry(self, entry: "Entry") -> None:
        """Put an outcome in its place; there must be none yet."""
        assert entry.name not in self.entries
        if self.entries is NOTHING:
            self.entries = {}
        self.entries[entry.name] = entry
        self.positives += not entry.is_missing

    def add_ticket(self, ticket: "Ticket") -> None:
        """Take note of a question."""
        if self.tickets is NOTHING:
            self.tickets = {}
        self.tickets.setdefault(ticket.name, []).append(ticket)

    def table(self, *, of_status: bool) -> "dict[Caller, Grant]":
        """Return the table for a right to see the directory's own status, or else to traverse it."""
        if of_status:
            if self.status_grants is NOTHING:
                self.status_grants = {}
            return self.status_grants
        if self.grants is NOTHING:
            self.grants = {}
        return self.grants

    def is_bare(self) -> bool:
        """Whether nothing is known here and no question is under way, so that the node can go."""
        return not (self.children or self.entries or self.grants or self.status_grants or self.tickets)


class Entry(EvictableItem):
    """The outcome known for one path; it is in the account of the caller for whom it was asked."""

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
        reply: Reply,
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
        """Bytes it takes, without the hits."""
        cost = ENTRY_BYTES + text_bytes(self.name) + reply_bytes(self.reply, self.shared)
        if self._witnesses is not None:
            cost += WITNESSES_BYTES + WITNESS_BYTES * len(self._witnesses)
        return cost

    def has_witness(self, caller: Caller) -> bool:
        """Whether a caller is among the witnesses: the NameNode itself gave them this reply."""
        if self._witnesses is None:
            return caller == self.account.caller
        return _digest(caller) in self._witnesses

    def witness(self, caller: Caller, replied_at: float, *, seen_as_of: float) -> None:
        """Take note that the NameNode gave this very reply to a caller. Changes `cost`.

        Once all witnesses were answered before what is covered, their grants are covered as well, and the
        set has served its purpose; so it stays as small as what happens between two probes. While
        nothing is covered its number is bounded: who is no witness waits for coverage.
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
        """Whether the reply is a 404, whose body names the path as it was asked for."""
        return self.kind is EntryKind.MISSING

    def says_the_same(self, reply: Reply) -> bool:
        """Whether the NameNode has given this outcome again (a 404's text is the asker's own)."""
        if self.reply.status != reply.status:
            return False
        return self.is_missing or self.reply.body == reply.body


def _digest(caller: Caller) -> bytes:
    """Return a digest in place of a caller: a witness's name, of any length, need not be kept."""
    return hashlib.blake2b(caller.encode(errors="surrogatepass"), digest_size=20).digest()


class Grant(EvictableItem):
    """A caller's right to traverse a directory, proven by the NameNode to that caller.

    The root's own status and, with `grants = per_path`, that of every directory has grants of its own, kept in the
    directory that the status is about; `table` is the dict that holds this grant.
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
        """Bytes it takes; the caller's name is in the account."""
        return GRANT_BYTES

    @property
    def caller(self) -> Caller:
        """Who has the right."""
        return self.account.caller


@dataclass(slots=True, eq=False)
class Ticket:
    """A question on its way to the NameNode; its reply may be kept only while nothing spoils it.

    It pins its directory: one that was evicted or detached and made again is another object, so its
    changes cannot be missed (guarantee NoLateFill). A thorough one asks whether a file is closed even if its status is
    kept: the caller wants to know again (`Cache-Control: no-cache`), or can be served only as a witness of all of it.
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
        """Bytes it takes."""
        return TICKET_BYTES + text_bytes(self.path) + text_bytes(self.name)

    def finds_unchanged(self, reply: Reply) -> bool:
        """Whether the new status equals the cached one: then isFileClosed need not be asked.

        It was when that was kept; its opening is a change, which would have made, or will make, all this stale.
        """
        if self.is_thorough:
            return False
        entry = self.directory.entries.get(self.name)
        return entry is not None and entry.kind is EntryKind.FILE and entry.says_the_same(reply)


class Hit(EvictableItem):
    """An entry together with the grant under which one caller may see it, in the caller's account.

    A shell may hold it for the next time (`Store.hold`), under a key of its own choice; a subclass says what that
    costs. Those of one entry form a chain, so that they go with it. `forget_epoch` is the cache's count of forgettings
    at which entry and grant were last seen to be good: while it has not moved, nothing needs to be looked at again.
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
        """Bytes it takes while it is held."""
        return HIT_BYTES + blob_bytes(self.key)

    def link(self) -> None:
        """Join the chain of the entry's hits."""
        self.after = self.entry.hits
        if self.after is not None:
            self.after.before = self
        self.entry.hits = self

    def unlink(self) -> None:
        """Leave the chain."""
        if self.before is None:
            self.entry.hits = self.after
        else:
            self.before.after = self.after
        if self.after is not None:
            self.after.before = self.before
        self.before = self.after = None
