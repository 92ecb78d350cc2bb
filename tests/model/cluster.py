"""Two model NameNodes over one edit log, and all that the namespace ever was: what answers are judged by."""

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
    """What there was between two transactions.

    Attributes:
        txid: the last transaction that is in it.
        ended: when whoever replaced it had the reply; infinite before that.
        is_dead: it was never durable, and was lost.
        acknowledged_at: when a client of the proxy heard that it made this version.
        took_s: how long that client's call took.
        is_excused: what that client wrote falls under a named exception of OwnWrites.
    """

    namespace: Namespace
    txid: int
    ended: float = inf
    is_dead: bool = False
    acknowledged_at: float = inf
    took_s: float = 0.0
    is_excused: bool = False
    removed: tuple[str, ...] = ()  # paths that its transaction removed
    has_event: bool = True  # else no event reports it
    _answers: dict[tuple[str, str], NameNodeReply] = field(default_factory=dict)

    def answer(self, user: str, path: str) -> NameNodeReply:
        """Say what GETFILESTATUS brought then."""
        key = (user, path)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = ns.status_of(self.namespace, user, path)
        return found

    def reaches(self, user: str, directory: str) -> bool:
        """Whether the user was told the truth about what was in the directory."""
        return self.answer(user, f"{directory.rstrip('/')}/0").status != 403


@dataclass(slots=True, eq=False)
class Writing:
    """Changes that were made and may not be durable yet.

    Attributes:
        made: the versions that they made.
    """

    made: tuple[Version, ...]
    replaced: tuple[Version, ...]
    on_end: list[Callable[[], None]] = field(default_factory=list)
    is_done: bool = False
    is_lost: bool = False

    def end(self, *, lost: bool) -> None:
        """Tell who waits."""
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
        """Whether it takes calls of clients."""
        return self.answers_http and self.state is HaState.ACTIVE


class Journal(Protocol):
    """Where the NameNodes' transactions go, beside their own log: JournalNodes (`tests/model/journal.py`)."""

    def append(self, txid: int, events: tuple[Event, ...]) -> None:
        """Take a transaction that is written, and not acknowledged yet."""

    def sync(self) -> None:
        """Take it that all that is written is acknowledged."""

    def take_over(self) -> None:
        """Take it that another life of a NameNode has begun its segment with the last transaction."""


class Cluster:
    """The NameNodes, and the history of what they have shown."""

    def __init__(
        self,
        clock: Callable[[], float],
        layout: Mapping[str, tuple[bool, str, int]],
        *,
        has_standby: bool = True,
    ) -> None:
        """Begin with what there is.

        Args:
            clock: seconds.
            layout: by path, whether it is a directory, whose it is, and its mode; in an order in which it can be made.
            has_standby: there is another NameNode that can take over.
        """
        self._clock = clock
        first = ModelNameNode("nn1")
        others = (ModelNameNode("nn2", first.log, active=False),) if has_standby else ()
        self.namenodes: tuple[ModelNameNode, ...] = (first, *others)
        self.active: ModelNameNode = first  # the one that takes writes
        self.versions: list[Version] = [Version(EMPTY, 0)]
        self.is_sync_held = False  # changes are made but are not durable yet
        self._writings: list[Writing] = []  # such
        self.proven: set[tuple[str, str]] = set()  # (user, directory) that any reply proved
        self.active_since = clock()  # this life of it
        self.journal: Journal | None = None
        for path, (is_directory, owner, mode) in layout.items():
            acts = (operations.mkdirs,) if is_directory else (operations.create, operations.close)
            for act in acts:
                self.write(by(SUPERUSER, act, path))
            self.write(by(SUPERUSER, operations.set_owner, path, owner))
            self.write(by(SUPERUSER, operations.set_permission, path, mode))

    @property
    def present(self) -> Version:
        """What there is."""
        return self.versions[-1]

    @property
    def standby(self) -> ModelNameNode:
        """The one that takes no writes."""
        return self.namenodes[self.active is self.namenodes[0]]

    def write(self, operation: Operation) -> Writing:
        """Carry an operation out; it is acknowledged once it is durable, mostly at once.

        Raises:
            RefusedError: nothing was changed.
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
        """Carry an operation out behind the proxy's back; None if it was refused."""
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
            if after.has_event:  # else the cache learns it from the proxy's own reply, if at all
                before.ended = min(before.ended, now)
        writing.end(lost=False)

    def hold_sync(self) -> None:
        """Let what is changed from here on not become durable."""
        self.is_sync_held = True

    def sync(self) -> None:
        """Make everything durable."""
        self.is_sync_held = False
        self.active.unsynced = 0
        if self.journal is not None:
            self.journal.sync()
        writings, self._writings = self._writings, []
        for writing in writings:
            self._acknowledge(writing)

    def _lose_unsynced(self) -> None:
        """Lose what was not durable; whoever saw it saw what never was."""
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
        """Let the active one crash and start again."""
        self._lose_unsynced()
        self.active_since = self._clock()
        self.active.restart()
        if self.journal is not None:
            self.journal.take_over()

    def fail_over(self) -> None:
        """Let the active one crash or step down, and the other one take its place."""
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
        """Let there have been nothing but the present; for when nobody waits for an answer.

        Args:
            still_proven: of a user and a directory, whether what was proven before may still be used.
        """
        del self.versions[:-1]
        self.proven = {each for each in self.proven if still_proven(*each)}


def _removed(step: Step) -> tuple[str, ...]:
    return tuple(
        event.path if isinstance(event, Unlink) else event.source
        for event in step.events
        if isinstance(event, Unlink | Rename)
    )
