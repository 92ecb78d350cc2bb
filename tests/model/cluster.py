"""Two model NameNodes on one edit log, and all past versions of the namespace, to judge answers by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from nncache.hadoop.election_view import HaState
from nncache.hadoop.events import Event, Rename, Unlink
from tests.invalidation.fakes import FakeNameNode
from tests.model import namespace as ns
from tests.model import operations
from tests.model.namespace import EMPTY, SUPERUSER, NameNodeReply, Namespace, RefusedError, Step
from tests.model.operations import Operation
from tests.model.writes import by


@dataclass(slots=True, eq=False)
class Version:
    """The namespace between two transactions.

    Attributes:
        txid: the last transaction in it.
        ended: when the change that replaced it was acknowledged; infinite before that.
        is_dead: it was lost before it was durable.
        acknowledged_at: when the client of the proxy that made this version got its reply.
        took_s: duration of that client's call in seconds.
        is_excused: the write of that client falls under a named exception of OwnWrites.
    """

    namespace: Namespace
    txid: int
    ended: float = inf
    is_dead: bool = False
    acknowledged_at: float = inf
    took_s: float = 0.0
    is_excused: bool = False
    removed: tuple[str, ...] = ()  # paths that its transaction removed
    has_event: bool = True  # False: no event reports it
    _answers: dict[tuple[str, str], NameNodeReply] = field(default_factory=dict)

    def answer(self, user: str, path: str) -> NameNodeReply:
        """Return the reply of GETFILESTATUS on this version."""
        key = (user, path)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = ns.status_of(self.namespace, user, path)
        return found

    def reaches(self, user: str, directory: str) -> bool:
        """Whether this version let the user traverse the directory."""
        return self.answer(user, f"{directory.rstrip('/')}/0").status != 403


@dataclass(slots=True, eq=False)
class Writing:
    """The changes of one call, which may not be durable yet.

    Attributes:
        made: the versions that the call created.
    """

    made: tuple[Version, ...]
    replaced: tuple[Version, ...]
    on_end: list[Callable[[], None]] = field(default_factory=list)
    is_done: bool = False
    is_lost: bool = False

    def end(self, *, lost: bool) -> None:
        """Run the callbacks of all who wait for the outcome."""
        self.is_done, self.is_lost = not lost, lost
        for each in self.on_end:
            each()


class ModelNameNode(FakeNameNode):
    """A NameNode process that also answers over HTTP.

    Attributes:
        answers_http: whether a call over HTTP gets a reply.
    """

    answers_http = True

    @property
    def is_serving(self) -> bool:
        """Whether it accepts client calls."""
        return self.answers_http and self.state is HaState.ACTIVE


class Journal(Protocol):
    """Additional storage of the NameNodes' transactions: JournalNodes (`tests/model/journal.py`)."""

    def append(self, txid: int, events: tuple[Event, ...]) -> None:
        """Append a transaction that is not acknowledged yet."""

    def sync(self) -> None:
        """Mark all appended transactions as acknowledged."""

    def take_over(self) -> None:
        """Start the segment of a restarted or newly active NameNode; the last transaction is its first."""


class Cluster:
    """The NameNodes, and the history of the versions that they have served."""

    def __init__(
        self,
        clock: Callable[[], float],
        layout: Mapping[str, tuple[bool, str, int]],
        *,
        has_standby: bool = True,
    ) -> None:
        """Create the namespace of `layout`.

        Args:
            clock: returns seconds.
            layout: by path: whether it is a directory, its owner and its mode; parents come before children.
            has_standby: a second NameNode can take over.
        """
        self._clock = clock
        first = ModelNameNode("nn1")
        others = (ModelNameNode("nn2", first.log, active=False),) if has_standby else ()
        self.namenodes: tuple[ModelNameNode, ...] = (first, *others)
        self.active: ModelNameNode = first  # takes the writes
        self.versions: list[Version] = [Version(EMPTY, 0)]
        self.is_sync_held = False  # new edits are not durable yet
        self._writings: list[Writing] = []  # writes whose edits are not durable yet
        self.proven: set[tuple[str, str]] = set()  # (user, directory) of each right that a reply has proven
        self.active_since = clock()  # start of the current life of the active NameNode
        self.journal: Journal | None = None
        for path, (is_directory, owner, mode) in layout.items():
            acts = (operations.mkdirs,) if is_directory else (operations.create, operations.close)
            for act in acts:
                self.write(by(SUPERUSER, act, path))
            self.write(by(SUPERUSER, operations.set_owner, path, owner))
            self.write(by(SUPERUSER, operations.set_permission, path, mode))

    @property
    def present(self) -> Version:
        """The current version."""
        return self.versions[-1]

    @property
    def standby(self) -> ModelNameNode:
        """The NameNode that is not active."""
        return self.namenodes[self.active is self.namenodes[0]]

    def write(self, operation: Operation) -> Writing:
        """Apply an operation; it is acknowledged when it is durable, in most cases immediately.

        Raises:
            RefusedError: the NameNode refused it and changed nothing.
        """
        log = self.active.log
        steps = operation(self.present.namespace, log.end + 1)
        replaced, made = [], []
        for step in steps:
            txid = self.active.write(*step.events)
            if self.journal is not None:
                self.journal.append(txid, step.events)
            replaced.append(self.present)
            version = Version(step.namespace, txid, removed=_removed(step), has_event=bool(step.events))
            made.append(version)
            self.versions.append(version)
        writing = Writing(tuple(made), tuple(replaced))
        if self.is_sync_held and made:
            self.active.unsynced += len(steps)
            self._writings.append(writing)
        else:
            if self.journal is not None and not self.is_sync_held:
                self.journal.sync()
            self._acknowledge(writing)
        return writing

    def try_write(self, operation: Operation) -> Writing | None:
        """Apply an operation behind the proxy's back; return None if the NameNode refused it."""
        try:
            return self.write(operation)
        except RefusedError:
            return None

    def write_nothing(self) -> None:
        """Log a transaction without an event."""
        self.write(lambda now, _: [Step(now, ())])

    def _acknowledge(self, writing: Writing) -> None:
        now = self._clock()
        for before, after in zip(writing.replaced, writing.made, strict=True):
            if after.has_event:  # otherwise the cache can learn it only from the proxy's own reply
                before.ended = min(before.ended, now)
        writing.end(lost=False)

    def hold_sync(self) -> None:
        """Keep later edits from becoming durable."""
        self.is_sync_held = True

    def sync(self) -> None:
        """Make all edits durable."""
        self.is_sync_held = False
        self.active.unsynced = 0
        if self.journal is not None:
            self.journal.sync()
        writings, self._writings = self._writings, []
        for writing in writings:
            self._acknowledge(writing)

    def _lose_unsynced(self) -> None:
        """Discard the edits that are not durable, although readers may have seen them."""
        lost, log = self.active.unsynced, self.active.log
        self.is_sync_held, self.active.unsynced = False, 0
        if not lost:
            return
        now = self._clock()
        durable = self.versions[-1 - lost]
        for version in self.versions[-lost:]:
            version.is_dead, version.ended = True, min(version.ended, now)
        durable.ended = min(durable.ended, now)
        del log.transactions[-lost:]
        self.versions.append(Version(durable.namespace, durable.txid))
        writings, self._writings = self._writings, []
        for writing in writings:
            writing.end(lost=True)

    def restart(self) -> None:
        """Crash and restart the active NameNode."""
        self._lose_unsynced()
        self.active_since = self._clock()
        self.active.restart()
        if self.journal is not None:
            self.journal.take_over()

    def fail_over(self) -> None:
        """Crash or demote the active NameNode and make the other one active; a lone NameNode restarts."""
        if len(self.namenodes) == 1:
            self.restart()
            return
        self._lose_unsynced()
        self.active_since = self._clock()
        old, new = self.active, self.standby
        old.state, new.state = HaState.STANDBY, HaState.ACTIVE
        old.cut()
        new.transition_ms += 1
        self.active = new
        new.write()
        if self.journal is not None:
            self.journal.take_over()

    def forget_history(self, still_proven: Callable[[str, str], bool]) -> None:
        """Delete all versions but the present one. No answer may be in flight.

        Args:
            still_proven: whether an earlier proof of this user's right to this directory may still be used.
        """
        del self.versions[:-1]
        self.proven = {each for each in self.proven if still_proven(*each)}


def _removed(step: Step) -> tuple[str, ...]:
    return tuple(
        event.path if isinstance(event, Unlink) else event.source
        for event in step.events
        if isinstance(event, Unlink | Rename)
    )
