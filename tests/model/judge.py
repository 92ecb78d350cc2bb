"""Judges answers and the cache's contents by all past versions of the namespace.

The judge uses no trees, tickets or windows: only versions, the times of their replacement, and who got a reply about
it. Each finding names the guarantee that it violates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Final

from nncache.cache.decisions import Cacheable
from nncache.cache.entries import Directory, Entry, EntryKind, Grant, Ticket
from nncache.hadoop.events import Event, Rename
from nncache.hadoop.filestatus import FileType
from nncache.proxy.messages import Headers
from tests.invalidation.fakes import FakePool
from tests.model.cluster import Cluster, Version
from tests.model.guarantee import Guarantee
from tests.model.namespace import SUPERUSER, NameNodeReply, missing
from tests.model.upstream import HEADERS, ODD_ANSWERS
from tests.model.watched_cache import WatchedCache

MAX_STALENESS_S: Final = 3.0
_SLACK_S: Final = 1e-6  # rounding of sums of floats
_FIELDS_SET_ANEW: Final = frozenset({b"Date", b"Expires", b"Age", b"Cache-Status"})
_SHOWN: Final = frozenset({200, 304, 404})
"""The statuses by which a NameNode shows the state of a path; any other shows nothing."""

_SHOWN_TO_ALL: Final = frozenset(
    {
        b"nncache; fwd=miss",
        b"nncache; fwd=method",
        b"nncache; fwd=bypass; detail=operation",
        b"nncache; fwd=bypass; detail=not-plain",
        b"nncache; fwd=bypass; detail=no-filter",
        b"nncache; fwd=bypass; detail=stream-closed",
        b"nncache; detail=not-admitted",
    }
)
"""The `Cache-Status` values that depend on request, settings or the whole proxy, not on the path."""

_FIELDS_OF_A_HIT: Final = tuple(
    field for field in HEADERS if field[0] not in {*_FIELDS_SET_ANEW, b"Set-Cookie"}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated guarantee, with a description."""

    guarantee: Guarantee
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A reply to a client.

    Attributes:
        started: when the client sent its request.
        made: the value of `Cache-Status`.
        is_shared: it was held, and one call to the NameNode served several held requests of its caller.
    """

    path: str
    user: str
    started: float
    answer: NameNodeReply
    fields: Headers
    made: bytes
    is_shared: bool = False

    @property
    def is_from_memory(self) -> bool:
        """Whether the reply was given without a call to the NameNode for this request."""
        return b"fwd=" not in self.made or b"collapsed" in self.made


class Judge:
    """Collects violations. They are recorded, not raised, since the product survives exceptions."""

    def __init__(
        self, cluster: Cluster, cache: WatchedCache, pool: FakePool, clock: Callable[[], float]
    ) -> None:
        self.violations: list[Violation] = []
        self.hits = 0
        self._cluster = cluster
        self._cache = cache
        self._pool = pool
        self._clock = clock
        self.user_of: Callable[[str], str] = lambda caller: caller.removeprefix("user=")
        self.has_all_events = True  # the channel reports every event, not only those of the filters
        self._checked = 0  # every event up to this transaction was seen to be reported
        self._life: tuple[object, int, int] | None = None  # of the active NameNode whose edits are followed
        cache.on_flush, cache.on_open, cache.on_cover = self._flushed, self._opened, self._covered
        cache.on_shared, cache.on_overtaken = self._shared, self._overtaken
        cache.on_contradicted = self._contradicted

    def say(self, guarantee: Guarantee, what: str) -> None:
        """Record a violation."""
        self.violations.append(Violation(guarantee, f"{what} (at {self._clock():.4f})"))

    # -- replies to clients ----------------------------------------------------------------------------------

    def made(self, path: str, status: int, made: bytes) -> None:
        """Judge the `Cache-Status` of a reply in which the NameNode does not show the path to the client."""
        if status not in _SHOWN and made not in _SHOWN_TO_ALL:
            self.say(Guarantee.PROVEN_GRANT, f"{path}: {made!r} beside status {status}")

    def failed(self, path: str, why: str) -> None:
        """Record a read without an answer, although a NameNode would have given one."""
        self.say(Guarantee.FAIL_TO_NAMENODE, f"{path}: {why}")

    def read(self, reported: Reported) -> None:
        """Judge the answer to a GETFILESTATUS, when it is given."""
        if reported.is_shared:
            self._judge_words(reported)
            return
        if reported.is_from_memory:
            self.hits += 1
            self._judge_memory(reported)
            return
        own = tuple(field for field in reported.fields if field[0] != b"Cache-Status")
        if own != HEADERS:
            self.say(Guarantee.VERBATIM, f"{reported.path}: fields {own}")
        self._judge_words(reported)

    def _judge_words(self, reported: Reported) -> None:
        """Judge that the NameNode's answer was true at some time since the request."""
        for version in reversed(self._cluster.versions):
            if version.ended < reported.started - _SLACK_S:
                break
            if version.answer(reported.user, reported.path) == reported.answer:
                return
        if reported.answer in ODD_ANSWERS:
            return
        self.say(Guarantee.VERBATIM, f"{reported.path}: the NameNode did not say {reported.answer}")

    def _judge_memory(self, reported: Reported) -> None:
        kept = tuple(field for field in reported.fields if field[0] not in _FIELDS_SET_ANEW)
        if kept != _FIELDS_OF_A_HIT:
            self.say(Guarantee.VERBATIM, f"{reported.path}: fields {kept}")
        is_collapsed = b"collapsed" in reported.made
        if not is_collapsed and self._clock() - self._cache.gate.fresh_as_of > MAX_STALENESS_S + _SLACK_S:
            self.say(
                Guarantee.BOUNDED,
                f"{reported.path} is answered from memory, though nothing shows how fresh it is",
            )
        bound = (reported.started if is_collapsed else self._clock()) - MAX_STALENESS_S - _SLACK_S
        allowed, floor = self._allowed(reported, bound)
        may_be_closed = False
        for version in allowed:
            may_be_closed |= _is_closed(version, reported)  # then, or after the answer was true
            if version.answer(reported.user, reported.path) == reported.answer and may_be_closed:
                return
        self.say(*self._finding(reported, allowed, floor))

    def _allowed(self, reported: Reported, bound: float) -> tuple[list[Version], Version | None]:
        """Return the versions that may explain an answer, and the client's own write that bounds them."""
        versions, allowed = self._cluster.versions, list[Version]()
        for index in range(len(versions) - 1, -1, -1):
            version = versions[index]
            if version.ended < bound and _shows_another(version, versions[index + 1], reported):
                return allowed, None
            allowed.append(version)
            is_own = version.acknowledged_at <= reported.started and not version.is_excused and index
            if is_own and _answers_another(versions[index - 1], version, reported):
                return allowed, version
        return allowed, None

    def _finding(
        self, reported: Reported, allowed: list[Version], floor: Version | None
    ) -> tuple[Guarantee, str]:
        """Return the guarantee that an unexplained answer violates, with a description."""
        what = (
            f"{reported.path} for {reported.user}: {reported.answer} from memory ({reported.made.decode()})"
        )
        if any(version.answer(reported.user, reported.path) == reported.answer for version in allowed):
            return Guarantee.OPEN_FILE_UNCACHED, f"{what}, but the file is open"
        if any(version.answer(SUPERUSER, reported.path) == reported.answer for version in allowed):
            return Guarantee.PROVEN_GRANT, f"{what}, which the NameNode would not have told"
        if not any(
            version.answer(user, reported.path) == reported.answer
            for version in self._cluster.versions
            for user in (SUPERUSER, reported.user)
        ):
            return Guarantee.VERBATIM, f"{what}, which never was"
        if floor is not None:
            return Guarantee.OWN_WRITES, f"{what}, older than the write {floor.txid}"
        return (
            Guarantee.BOUNDED,
            f"{what}, older than allowed; what is: {allowed[0].answer(reported.user, reported.path)}",
        )

    # -- contents of the cache -------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Judge each entry and grant: it must match a version that no known change has ended."""
        versions = [version for version in self._cluster.versions if not version.is_dead]
        dead = [version for version in self._cluster.versions if version.is_dead]
        lost = dead if self._is_of_an_earlier_active() else []
        for path, directory in self._cache.kept():
            for entry in directory.entries.values():
                self._judge_entry(f"{path}/{entry.name}", entry, versions, lost)
            for grant in directory.grants.values():
                self._judge_grant(path or "/", grant, versions, lost)

    def _believable(self, versions: list[Version], state: Callable[[Version], object]) -> Iterator[Version]:
        """Yield the versions, newest first, whose state may still be current as far as the cache knows."""
        position, as_of = self._cache.position, self._cache.gate.fresh_as_of - _SLACK_S
        now = versions[-1]
        yield now
        for before, after in _pairs(versions):
            is_known = after.txid <= position if after.has_event else after.acknowledged_at < inf
            if (is_known or before.ended < as_of) and state(before) != state(after):
                return
            yield before

    def _judge_entry(self, path: str, entry: Entry, versions: list[Version], lost: list[Version]) -> None:
        def state(version: Version) -> object:
            inode = version.namespace.get(path)
            return version.answer(SUPERUSER, path), inode is not None and inode.is_open

        may_be_closed = entry.kind is not EntryKind.FILE
        is_explained = False
        for version in chain(self._believable(versions, state), lost):
            inode = version.namespace.get(path)
            may_be_closed |= (
                inode is not None and not inode.is_open
            )  # a status from before the close counts for a while
            is_explained |= _says(version, path, entry)
            if is_explained and may_be_closed:
                return
        if is_explained:
            self.say(Guarantee.OPEN_FILE_UNCACHED, f"{path} is kept though it is open")
            return
        ended_by = _ended_by(versions, lambda version: _says(version, path, entry))
        self._say_stale(f"the entry of {path}", entry, ended_by, is_grant=False)

    def _judge_grant(
        self, directory: str, grant: Grant, versions: list[Version], lost: list[Version]
    ) -> None:
        user = self.user_of(grant.caller)

        def state(version: Version) -> bool:
            return version.reaches(user, directory)

        if not any(state(version) for version in chain(self._believable(versions, state), lost)):
            self._say_stale(
                f"the grant of {user} for {directory}", grant, _ended_by(versions, state), is_grant=True
            )
        elif (user, directory) not in self._cluster.proven:
            self.say(Guarantee.PROVEN_GRANT, f"{user} has never shown to reach {directory}")

    def _shared(self, ticket: Ticket, known: Cacheable) -> None:
        """Judge a reply that was accepted as current: no known change may have ended it."""
        reply = NameNodeReply(known.reply.status, known.reply.body)
        if b"File does not exist: " in reply.body:  # it quotes the path as the client spelled it
            reply = missing(ticket.path)
        user = self.user_of(ticket.caller)

        def state(version: Version) -> NameNodeReply:
            return version.answer(user, ticket.path)

        versions = [version for version in self._cluster.versions if not version.is_dead]
        lost = [version for version in self._cluster.versions if version.is_dead]
        believable = chain(self._believable(versions, state), lost if self._is_of_an_earlier_active() else ())
        if any(state(version) == reply for version in believable):
            return
        what = f"the reply {reply} for {user} about {ticket.path}"
        if any(state(version) == reply for version in self._cluster.versions):
            self.say(Guarantee.NO_LATE_FILL, f"{what} came too late to count")
        else:
            self.say(Guarantee.VERBATIM, f"{what} counts, which says nothing of what there is")

    def _overtaken(self, ticket: Ticket) -> None:
        """Record that an earlier reply replaced a later one: the cache forgot a known change."""
        self.say(Guarantee.NO_LATE_FILL, f"an earlier reply about {ticket.path} has replaced a later one")

    def _contradicted(self, ticket: Ticket) -> None:
        """Record that the NameNode showed a file that must not be cached, and its entry is still cached."""
        self.say(Guarantee.OPEN_FILE_UNCACHED, f"{ticket.path} was seen to be open, and is kept")

    def _say_stale(self, what: str, kept: Entry | Grant, ended_by: Version | None, *, is_grant: bool) -> None:
        """Record the guarantee that an entry or grant violates because it is cached for too long."""
        if ended_by is None:
            guarantee = Guarantee.PROVEN_GRANT if is_grant else Guarantee.BOUNDED
            self.say(guarantee, f"{what} is kept, which never was, or was lost")
        elif self._cache.kept_at.get(kept, -1) >= ended_by.txid:
            self.say(
                Guarantee.NO_LATE_FILL, f"{what} was kept after {ended_by.txid}, which ended it, was known"
            )
        elif ended_by.txid <= self._cache.position and not self._was_reported(ended_by.txid):
            self.say(Guarantee.GAP_FLUSH, f"{what} is kept, for {ended_by.txid} was never told")
        else:
            guarantee = Guarantee.PROVEN_GRANT if is_grant else Guarantee.BOUNDED
            self.say(guarantee, f"{what} is kept, though {ended_by.txid} has ended it")

    def _was_reported(self, txid: int) -> bool:
        may_be_merged = not self.has_all_events and txid >= self._cluster.active.log.first_kept
        return may_be_merged or txid in self._cache.reported

    def closed(self) -> None:
        """Judge that nothing is cached while no stream of edits is followed."""
        if any(_is_something(directory) for _, directory in self._cache.kept()):
            self.say(Guarantee.GAP_FLUSH, "something is kept, though nobody follows the edits")

    # -- calls to the cache ----------------------------------------------------------------------------------

    def _flushed(self) -> None:
        """Judge that a flush has forgotten everything."""
        cache = self._cache
        if any(_is_something(directory) for _, directory in cache.kept()):
            self.say(Guarantee.GAP_FLUSH, "something is left after a flush")
        if cache.unspoiled():
            self.say(Guarantee.GAP_FLUSH, "a question under way survives a flush")
        if cache.gate.is_open(self._clock()):
            self.say(Guarantee.GAP_FLUSH, "the gate is open after a flush")

    def _opened(self) -> None:
        active = self._pool.active
        self._life = None if active is None else (active.namenode, active.started_ms, active.transition_ms)
        self._checked = self._cluster.active.log.end

    def _is_of_an_earlier_active(self) -> bool:
        active = self._cluster.active
        return self._life != (active.address, active.started_ms, active.transition_ms)

    def _covered(self, as_of: float, txid: int) -> None:
        """Judge that all changes acknowledged before `as_of` were applied."""
        if self._is_of_an_earlier_active():
            if as_of > self._cluster.active_since + _SLACK_S:
                self.say(
                    Guarantee.GAP_FLUSH, f"covered as of {as_of:.4f} by the edits of who was active before"
                )
            return
        for before, after in _pairs([version for version in self._cluster.versions if not version.is_dead]):
            if before.ended < as_of - _SLACK_S and after.has_event:
                events = self._cluster.active.log.transactions[after.txid - 1]
                if after.txid > txid and after.txid not in self._cache.reported and any(map(_tells, events)):
                    self.say(
                        Guarantee.BOUNDED, f"covered as of {as_of:.4f}, up to {txid}, without {after.txid}"
                    )
                break
        if not self.has_all_events:
            return
        transactions = self._cluster.active.log.transactions
        for each in range(self._checked + 1, min(txid, len(transactions)) + 1):
            if any(map(_tells, transactions[each - 1])) and each not in self._cache.reported:
                self.say(Guarantee.GAP_FLUSH, f"covered up to {txid}, but {each} was never told")
        self._checked = max(self._checked, txid)


def _pairs(versions: list[Version]) -> Iterator[tuple[Version, Version]]:
    """Yield each version with its successor, the last first."""
    for index in range(len(versions) - 1, 0, -1):
        yield versions[index - 1], versions[index]


def _says(version: Version, path: str, entry: Entry) -> bool:
    answer = version.answer(SUPERUSER, path)
    if entry.is_missing:
        return answer.status == 404
    return (answer.status, answer.body) == (entry.reply.status, entry.reply.body)


def _is_closed(version: Version, reported: Reported) -> bool:
    inode = version.namespace.get(reported.path)
    return inode is None or inode.kind is not FileType.FILE or not inode.is_open


def _shows_another(before: Version, after: Version, reported: Reported) -> bool:
    """Whether the change that ended a version affects this reply. If not, the version still explains it.

    A change not yet acknowledged may precede one whose client has given up.
    """
    return _is_closed(before, reported) != _is_closed(after, reported) or _answers_another(
        before, after, reported
    )


def _answers_another(before: Version, after: Version, reported: Reported) -> bool:
    return any(
        before.answer(user, reported.path) != after.answer(user, reported.path)
        for user in (SUPERUSER, reported.user)
    )


def _ended_by(versions: list[Version], is_true: Callable[[Version], bool]) -> Version | None:
    """Return the version that ended the last one for which `is_true` holds."""
    for before, after in _pairs(versions):
        if is_true(before):
            return after
    return None


def _tells(event: Event) -> bool:
    """Whether an event reports a change: the old rename API logs a rename of a path to itself."""
    return not (isinstance(event, Rename) and event.source == event.destination)


def _is_something(directory: Directory) -> bool:
    return bool(directory.entries or directory.grants or directory.status_grants)
