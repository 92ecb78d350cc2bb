"""Who may see what, as the NameNode itself has proven it.

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
from nncache.cache.store import Store

MAX_ENDED: Final = 4_096
"""Callers of whom it is remembered when their rights ended: for as long as a question takes, one needs it."""


class Rights:
    """Grants: proven, believed for a while, forgotten (guarantee ProvenGrant).

    Invariant P1: a grant is held by the directory that it lets its caller traverse or, for the root and with
    `grants = per_path`, in the directory whose own status it lets them see; so it is cut off with it.
    Invariant P2: no question that was asked before its caller's rights ended gives a right.
    """

    def __init__(self, settings: CacheSettings, store: Store) -> None:
        self._ttl_s = settings.grant_ttl_s
        self._is_per_path = settings.grants == "per_path"
        self._store = store
        self._ended: OrderedDict[Caller, int] = OrderedDict()  # the last ticket before their rights ended
        self._all_ended = 0  # the same, for callers who are not among them any more

    def end(self, caller: Caller, now: float, *, is_certain: bool = True) -> None:
        """End all rights of a caller, and those of questions under way: what authenticates them was cancelled.

        Where that is not certain, a caller without a right costs nothing: any number may be made up.
        """
        if not (self._store.end_rights(caller, now) or is_certain):
            return
        self._ended[caller] = self._store.tickets_taken
        self._ended.move_to_end(caller)
        if len(self._ended) > MAX_ENDED:
            self._all_ended = self._ended.popitem(last=False)[1]

    def have_ended(self, ticket: Ticket) -> bool:
        """Whether the rights of who asks a question have ended since it was asked."""
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
        """Keep what a 200 or a true 404 proves: the asker may traverse every ancestor.

        `kind` is None where the reply itself is not kept. The root has no ancestor: its status proves itself alone.
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
        """Forget what the NameNode has refused, whatever event is still to come: the asker's rights here, or all."""
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
    """Whether one moment explains both the entry and the right to see it.

    Either the NameNode gave this very reply to this caller, or all changes up to a moment later than
    the reply and the proof have been applied and left both standing: also those that were to be seen and not
    yet acknowledged. Without this an old right would meet newer content: chmod 700, then a secret is made,
    and the event of the chmod is on its way, or its transaction not durable yet.
    """
    if seen_as_of >= max(entry.replied_at, grant.proven_at):
        return True
    return entry.has_witness(grant.caller)
