"""What the cache holds: outcomes and rights, each proven by the NameNode. (cache/entries.py)

An entry or grant lives in one `Directory` of the tree and is good only as long as that directory is
still attached to the root; see `cache/tree.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, NewType

Caller = NewType("Caller", str)
"""Whom the NameNode would see asking: an opaque key made by the front end."""

MAX_WITNESSES: Final = 100
"""Of one entry; they are not reckoned among the bytes kept."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the NameNode, to be replayed byte for byte (guarantee Verbatim).

    `headers` are the end-to-end headers in the NameNode's order, without `Date`, `Expires`,
    `Set-Cookie` and those that frame the message.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Kind(Enum):
    """What a kept reply says about its path."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"


class Directory:
    """One directory: what is known of its children, and who may traverse it.

    `status_grants` are rights to see the directory's own status (`grants = per_path`).
    `positives` counts the entries here that prove the directory to exist.
    """

    __slots__ = (
        "children",
        "entries",
        "grants",
        "name",
        "parent",
        "positives",
        "status_grants",
        "tickets",
    )

    def __init__(self, parent: Directory | None, name: str) -> None:
        self.parent = parent
        self.name = name
        self.children: dict[str, Directory] = {}
        self.entries: dict[str, Entry] = {}
        self.grants: dict[Caller, Grant] = {}
        self.status_grants: dict[Caller, Grant] = {}
        self.tickets: dict[str, list[Ticket]] = {}
        self.positives = 0

    def is_bare(self) -> bool:
        """Whether nothing is known here and nobody is asking, so that the node can go."""
        return not (self.children or self.entries or self.grants or self.status_grants or self.tickets)


class Entry:
    """The outcome known for one path.

    Attributes:
        number: the ticket under which it was asked; a reply asked earlier never replaces it.
        replied_at: when the NameNode's reply was complete; what must be covered before others than
            the witnesses may see it.
        confirmed_at: the latest time at which the NameNode gave this very reply and, of a file, was asked if it
            is closed.
        since_txid: last transaction applied when it was kept; nothing after it has changed the path.
        witnesses: callers to whom the NameNode itself gave this reply; it matters until covered.
        alive: false once it was forgotten.
        asked: asked for since the eviction hand last came by.
    """

    __slots__ = (
        "alive",
        "asked",
        "confirmed_at",
        "cost",
        "directory",
        "kind",
        "name",
        "number",
        "replied_at",
        "reply",
        "since_txid",
        "witnessed_at",
        "witnesses",
    )

    def __init__(
        self,
        directory: Directory,
        name: str,
        reply: Reply,
        *,
        kind: Kind,
        number: int,
        replied_at: float,
        since_txid: int,
        cost: int,
    ) -> None:
        self.directory = directory
        self.name = name
        self.reply = reply
        self.kind = kind
        self.number = number
        self.replied_at = replied_at
        self.confirmed_at = replied_at
        self.since_txid = since_txid
        self.cost = cost
        self.witnesses: set[Caller] = set()
        self.witnessed_at = replied_at  # when the last of them was told
        self.alive = True
        self.asked = False

    def witness(self, caller: Caller, told_at: float, *, seen_as_of: float) -> None:
        """Take note that the NameNode gave this very reply to a caller.

        Once all witnesses were told before what is covered, their grants are covered as well, and the
        set has served its purpose; so it stays as small as what happens between two probes. While
        nothing is covered its number is bounded: who is no witness waits for coverage.
        """
        if seen_as_of >= self.witnessed_at or len(self.witnesses) >= MAX_WITNESSES:
            self.witnesses.clear()
        self.witnesses.add(caller)
        self.witnessed_at = max(self.witnessed_at, told_at)
        self.confirmed_at = max(self.confirmed_at, told_at)

    @property
    def is_missing(self) -> bool:
        """Whether the reply is a 404, whose body names the path as it was asked for."""
        return self.kind is Kind.MISSING

    def says_the_same(self, reply: Reply) -> bool:
        """Whether the NameNode has given this outcome again (a 404's text is the asker's own)."""
        if self.reply.status != reply.status:
            return False
        return self.is_missing or self.reply.body == reply.body


class Grant:
    """A caller's right to traverse a directory, proven by the NameNode to that caller.

    With `grants = per_path` a directory's own status has grants of its own, kept in the directory that
    the status is about; `table` is the dict that holds this grant.
    """

    __slots__ = ("alive", "asked", "caller", "cost", "directory", "expires_at", "proven_at", "table")

    def __init__(
        self,
        directory: Directory,
        table: dict[Caller, Grant],
        caller: Caller,
        *,
        proven_at: float,
        expires_at: float,
        cost: int,
    ) -> None:
        self.directory = directory
        self.table = table
        self.caller = caller
        self.proven_at = proven_at
        self.expires_at = expires_at
        self.cost = cost
        self.alive = True
        self.asked = False


class Ticket:
    """A question on its way to the NameNode; its reply may be kept only while nothing spoils it.

    It pins its directory: one that was evicted or detached and made again is another object, so its
    changes cannot be missed (guarantee NoLateFill).

    Attributes:
        joinable: whether others may have the reply.
        is_thorough: whether a file's being closed is asked even if its status is kept: the caller wants to know
            anew (`Cache-Control: no-cache`), or can be served only as a witness of all of it.
    """

    __slots__ = (
        "asked_at",
        "caller",
        "directory",
        "is_thorough",
        "joinable",
        "name",
        "number",
        "path",
        "spoiled",
    )

    def __init__(
        self,
        directory: Directory,
        path: str,
        name: str,
        caller: Caller,
        *,
        asked_at: float,
        number: int,
        joinable: bool,
        is_thorough: bool = False,
    ) -> None:
        self.directory = directory
        self.path = path
        self.name = name
        self.caller = caller
        self.asked_at = asked_at
        self.number = number
        self.joinable = joinable
        self.is_thorough = is_thorough
        self.spoiled = False

    def finds_unchanged(self, reply: Reply) -> bool:
        """Whether a file's status that has just come is what is kept of it, so that nobody need ask if it is closed.

        It was when that was kept; its opening is a change, which would have made, or will make, all this stale.
        """
        if self.is_thorough:
            return False
        entry = self.directory.entries.get(self.name)
        return entry is not None and entry.kind is Kind.FILE and entry.says_the_same(reply)


class Hit:
    """An entry together with the grant under which one caller may see it.

    `stamp` is the cache's count of forgettings at which both were last seen to be good: while it has
    not moved, nothing needs to be looked at again.
    """

    __slots__ = ("entry", "expires_at", "grant", "stamp")

    def __init__(self, entry: Entry, grant: Grant, *, stamp: int, expires_at: float) -> None:
        self.entry = entry
        self.grant = grant
        self.stamp = stamp
        self.expires_at = expires_at
