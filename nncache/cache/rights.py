"""The rights of callers, as the NameNode itself has proven them.

GETFILESTATUS needs execute on every ancestor and nothing on the path itself (Hadoop 3.5.0
`FSPermissionChecker.checkTraverse`), so one status serves all callers, and the right to see it belongs
to a caller and a directory.
"""

from collections import OrderedDict
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Denied, Unauthenticated
from nncache.cache.entries import Directory, Entry, EntryKind, Grant, Ticket
from nncache.cache.settings import CacheSettings
from nncache.cache.store import CacheStore

MAX_ENDED: Final = 4_096
"""Number of callers whose end of rights is recorded: it matters only while a question is on its way."""


class Rights:
    """Grants: proven, valid for a limited time, removed (guarantee ProvenGrant).

    Invariant P1: the directory that a grant lets its caller traverse holds it; for the root and with
    `grants = per_path`, the directory whose own status it lets them see. So it is detached with that directory.
    Invariant P2: a question that was sent before its caller's rights ended proves no right.
    """

    def __init__(self, settings: CacheSettings, store: CacheStore) -> None:
        self._ttl_s = settings.grant_ttl_s
        self._is_per_path = settings.grants == "per_path"
        self._store = store
        self._ended: OrderedDict[Caller, int] = OrderedDict()  # the last ticket before their rights ended
        self._all_ended = 0  # the same, for callers who are not among them any more

    def end(self, caller: Caller, now: float, *, is_certain: bool = True) -> None:
        """End all rights of a caller, also those that questions on their way would prove: the credential was cancelled.

        If that is not certain (`is_certain`), a caller without rights is not recorded: clients can invent any number.
        """
        if not (self._store.end_rights(caller, now) or is_certain):
            return
        self._ended[caller] = self._store.tickets_taken
        self._ended.move_to_end(caller)
        if len(self._ended) > MAX_ENDED:
            self._all_ended = self._ended.popitem(last=False)[1]

    def have_ended(self, ticket: Ticket) -> bool:
        """Whether the caller's rights have ended since the question was sent."""
        return ticket.number <= self._ended.get(ticket.caller, self._all_ended)

    def held(self, directory: Directory | None, entry: Entry | None) -> dict[Caller, Grant]:
        """Return the rights to see the entry or, without one, to traverse the directory."""
        if directory is None:
            return {}
        if entry is not None and not entry.name:
            return directory.status_grants  # the root's: who may see that may not see what is in it
        if entry is not None and entry.kind is EntryKind.DIRECTORY and self._is_per_path:
            own = directory.children.get(entry.name)
            return {} if own is None else own.status_grants
        return directory.grants

    def grant(self, directory: Directory, entry: Entry | None, caller: Caller, now: float) -> Grant | None:
        """Return the caller's right to see the entry or, without one, to traverse the directory."""
        grant = self.held(directory, entry).get(caller)
        if grant is not None and (now >= grant.expires_at or grant.proven_at <= grant.account.ended_at):
            self._store.forget_grant(grant)
            return None
        return grant

    def prove(
        self, ticket: Ticket, replied_at: float, kind: EntryKind | None, *, proven_for_s: float
    ) -> None:
        """Store the right that a 200 or a true 404 proves: the caller may traverse every ancestor.

        `kind` is None if the reply itself is not kept. The root has no ancestor: its status proves only itself.
        """
        if self.have_ended(ticket):
            return
        homes = [(ticket.directory, not ticket.name)]
        if ticket.name and kind is EntryKind.DIRECTORY and self._is_per_path:
            homes.append((self._store.tree.ensure(ticket.path), True))
        for home, of_status in homes:
            self._store.keep_grant(
                home,
                ticket.caller,
                of_status=of_status,
                proven_at=replied_at,
                expires_at=replied_at + min(self._ttl_s, proven_for_s),
            )

    def refuse(self, ticket: Ticket, outcome: Denied | Unauthenticated, *, is_spoiled: bool) -> None:
        """Remove the rights that the NameNode has refused, without waiting for an event: those here, or all."""
        if isinstance(outcome, Unauthenticated):
            self.end(ticket.caller, outcome.replied_at, is_certain=False)
            return
        if is_spoiled:
            return
        own = ticket.directory.children.get(ticket.name) if ticket.name else ticket.directory
        for table in (ticket.directory.grants, own.status_grants if own is not None else {}):
            if (grant := table.get(ticket.caller)) is not None:
                self._store.forget_grant(grant)


def may_see(entry: Entry, grant: Grant, *, seen_as_of: float) -> bool:
    """Whether the entry and the right to see it were both true at one moment.

    Either the NameNode gave exactly this reply to this caller, or all changes up to a time after the reply and the
    proof have been applied, those that were visible but not yet acknowledged included, and neither was removed.
    Without this rule an old right would disclose newer content: chmod 700, then a secret file is created, while the
    event of the chmod is on its way, or its transaction is not durable yet.
    """
    if seen_as_of >= max(entry.replied_at, grant.proven_at):
        return True
    return entry.has_witness(grant.caller)
