"""Make random operations, and compare every answer of the proxy with the NameNode's own.

Each seed has a tree of its own with four areas: alice's, bob's, the superuser's, and one that may be erasure-coded.
Two directories can have snapshots. After the seed only the directory remains.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final
from unicodedata import normalize

from nncache.testbed.asker import RawReply
from tests.differential.asking import Line, Lines, OpenFiles, Pair
from tests.differential.exceptions import MAX_ENTRY_AGE_S, Excuse, Excuses, status_of
from tests.differential.figures import Figures, ReplyCheck
from tests.differential.flushing import Flushed, Writer
from tests.differential.operation import FLUSHED, HELD, LATE, Generator, Operation, Unfinished
from tests.real.proxied_cluster import (
    MAX_STALENESS_S,
    USERS,
    CallTarget,
    ProxiedCluster,
    differences,
    was_forwarded,
)

TWO_STEP_WINDOW_S: Final = 3.0
"""A CREATE that the DataNode refuses leaves its window open to the end; ten minutes would outlast the run."""

SETTINGS: Final[dict[str, Any]] = {
    "two_step_window_s": TWO_STEP_WINDOW_S,
    "max_entry_age_s": MAX_ENTRY_AGE_S,
}
"""The proxy's settings."""

SETTINGS_ON_LOG: Final[dict[str, Any]] = {"two_step_window_s": TWO_STEP_WINDOW_S}
"""The proxy's settings if the edit log is read: no change has to wait until an entry expires."""

GLOBS: Final = tuple("/differential" + "/*" * depth for depth in range(1, 9))
"""Filters that match every path of every run."""

_OTHERS: Final = 5  # number of further paths read after each operation
_SNAPSHOT: Final = "/.snapshot"
_ODD_PATHS: Final = 4  # as many of the last paths that moves into directories may have created
_HELD_STEPS: Final = 5  # a file is held open for this many steps
_GROWN_STEPS: Final = 2  # a flushed file grows after this many steps
_LATE_S: Final = TWO_STEP_WINDOW_S + 0.5
_PAUSE_S: Final = 0.001  # between two rounds of reads that wait for a change
_FORWARDED_AGAIN: Final = 3  # how often a forwarded answer that differs is requested again
_SEGMENT_EVERY: Final = 20  # steps between two measurements of the open edit segment


class Differential:
    """One run of a seed below a directory of its own."""

    def __init__(
        self, proxied_cluster: ProxiedCluster, *, seed: int, root: str, reads_log: bool = False
    ) -> None:
        """Prepare the run. `reads_log`: the edit log is read, so fewer exceptions apply, and files are flushed too."""
        self._proxied = proxied_cluster
        self._root = root
        self._generator = Generator(seed, root, without=() if reads_log else (FLUSHED,))
        self._seed = seed
        self._step = 0
        self._excuses = Excuses(reads_log=reads_log)
        self._were_open: set[str] = set()  # paths of files that were seen open
        self._odd: deque[str] = deque(maxlen=_ODD_PATHS)
        # With the step in which each was begun.
        self._unfinished: list[tuple[int, Unfinished | Flushed]] = []
        self._open = ExitStack()
        self._writer = self._open.enter_context(Writer(proxied_cluster.cluster)) if reads_log else None
        self._readers = (*USERS, *proxied_cluster.way.impostors)
        self._proxy = self._open.enter_context(Lines(proxied_cluster.proxy.address, proxied_cluster.way))
        self._namenode = self._open.enter_context(
            Line(proxied_cluster.cluster.namenodes[0].http, proxied_cluster.way)
        )
        self._open_files = self._open.enter_context(OpenFiles(proxied_cluster.cluster))
        self.figures = Figures()

    def run(self, operations: int, progress: Callable[[], None] = lambda: None) -> Figures:
        """Make `operations` operations, each followed by reads as three users, and with false credentials."""
        began_at = time.monotonic()
        with self._open:
            self._lay_out()
            for self._step in range(operations):
                self._finish_what_is_due()
                self._do(self._generator.next())
                if self._step % _SEGMENT_EVERY == 0:
                    self._measure_segment()
                progress()
            for _, unfinished in self._unfinished:
                unfinished.close()
        self.figures.met = self._excuses.met
        self.figures.took_s = time.monotonic() - began_at
        return self.figures

    def _lay_out(self) -> None:
        for name, owner, mode in (
            ("", None, "777"),
            ("/a", "alice", "755"),
            ("/b", "bob", "700"),
            ("/s", None, "777"),
            ("/e", None, "777"),
        ):
            self._proxied.mkdirs(self._root + name, owner, mode)

    def _measure_segment(self) -> None:
        txids = self._proxied.cluster.open_segment_txids()
        self.figures.segment_txids = max(self.figures.segment_txids, txids)

    # -- one step

    def _do(self, operation: Operation) -> None:
        self.figures.operations += 1
        self.figures.behind += operation.where is CallTarget.NAMENODE
        if operation.kind in {HELD, LATE, FLUSHED}:
            self._judge(operation, lambda: self._begin(operation))
        else:
            self._judge(operation, lambda: operation.carry_out(self._proxied))

    def _begin(self, operation: Operation) -> RawReply:
        if operation.kind == FLUSHED:
            assert self._writer is not None
            begun: Unfinished | Flushed | RawReply = self._writer.begin(operation)
        else:
            begun = operation.begin(self._proxied)
        if isinstance(begun, RawReply):
            return begun
        self._unfinished.append((self._step, begun))
        return begun.begun

    def _finish_what_is_due(self) -> None:
        now = time.monotonic()
        for begun in list(self._unfinished):
            step, unfinished = begun
            operation, age = unfinished.operation, now - unfinished.begun.ended_at
            steps = self._step - step
            if isinstance(unfinished, Flushed) and not unfinished.has_grown and steps >= _GROWN_STEPS:
                self._judge(replace(operation, kind=f"{FLUSHED}: more"), unfinished.grow)
            if age > _LATE_S if operation.kind == LATE else steps >= _HELD_STEPS:
                self._unfinished.remove(begun)
                is_late = operation.kind == HELD and age > TWO_STEP_WINDOW_S / 2
                kind = f"{LATE if is_late else operation.kind}: the end"
                self._judge(replace(operation, kind=kind), unfinished.finish)

    def _judge(self, operation: Operation, carry_out: Callable[[], RawReply]) -> None:
        """Carry out an operation, and compare the answers before and after it."""
        pairs = [Pair(path, user) for path in self._interesting(operation) for user in self._readers]
        keepable = [pair for pair in pairs if _SNAPSHOT not in pair.path]
        before = dict(zip(keepable, self._proxy.ask(keepable), strict=True))
        timed = self._hits_of(operation, before) if operation.where is CallTarget.NAMENODE else {}
        done = carry_out()
        self._namenode.send(list(timed))
        if done.status < 300:
            self.figures.accepted[operation.kind] += 1
            self._excuses.learn(operation, done, self._proxied)
            self._time(timed, done.ended_at)
        else:
            self.figures.refused[operation.kind] += 1
            for _ in timed:
                self._namenode.receive()
        self._namenode.send(pairs)  # not earlier: a cut file may have changed again during the wait
        seen = self._proxy.ask(pairs)
        truth = [self._namenode.receive() for _ in pairs]
        self._compare(operation, pairs, seen, truth, done.ended_at)
        self._generator.learn(
            {pair.path: reported.status for pair, reported in zip(pairs, truth, strict=True)}
        )
        if operation.kind.startswith("RENAME"):
            self._odd.append(operation.paths[2])

    def _interesting(self, operation: Operation) -> list[str]:
        """Return the paths to read: those of the operation, their parents and descendants, and some others."""
        forms = [normalize("NFC", path) for path in operation.paths]  # what a redirect leads to
        own = list(dict.fromkeys((*operation.paths, *forms)))
        parents = [path.rsplit("/", 1)[0] for path in own]
        children = [below for path in own for below in self._generator.below(path)]
        held = [unfinished.operation.paths[0] for _, unfinished in self._unfinished]
        others = [*held, *self._generator.some_paths(_OTHERS), self._generator.a_snapshot(), *self._odd]
        return [
            path
            for path in dict.fromkeys((*own, *parents, *children, *others))
            if path == self._root or path.startswith(self._root + "/")
        ]

    def _hits_of(self, operation: Operation, before: dict[Pair, RawReply]) -> dict[Pair, RawReply]:
        """Return for each path of the operation, and the parent of the first, a fresh hit of one user, if any."""
        hits = {}
        parent = operation.paths[0].rsplit("/", 1)[0]
        for path in dict.fromkeys((*operation.paths, parent)):
            for pair in (Pair(path, user) for user in USERS):
                if pair in before and before[pair].status in {200, 404}:
                    (reply,) = self._proxy.ask([pair])
                    if reply.is_hit:
                        hits[pair] = reply
                        break
        return hits

    def _time(self, hits: dict[Pair, RawReply], since: float) -> None:
        """Ask the proxy for each changed path until it agrees with the NameNode, and record the latencies."""
        now = {pair: self._namenode.receive() for pair in hits}
        waiting = {
            pair: now[pair]
            for pair, old in hits.items()
            if since - old.ended_at < 1.0 and (old.status, old.body) != (now[pair].status, now[pair].body)
        }
        while waiting:
            for pair, seen in zip(list(waiting), self._proxy.ask(list(waiting)), strict=True):
                age = seen.started_at - since
                if self._excuses.of_fields(pair.path, seen, waiting[pair]):
                    del waiting[pair]
                elif (seen.status, seen.body) == (waiting[pair].status, waiting[pair].body):
                    self.figures.latencies_s.append(age)
                    del waiting[pair]
                elif age > MAX_STALENESS_S:
                    del waiting[pair]  # the comparison that follows reports it
            if waiting:
                time.sleep(_PAUSE_S)

    # -- judging

    def _compare(
        self,
        operation: Operation,
        pairs: Sequence[Pair],
        seen: Sequence[RawReply],
        truth: Sequence[RawReply],
        since: float,
    ) -> None:
        self.figures.compared += len(pairs)
        files = {
            pair.path
            for pair, reply, reported in zip(pairs, seen, truth, strict=True)
            if b'"type":"FILE"' in reported.body
            and (not reply.is_hit or pair.path in operation.paths or pair.path in self._were_open)
        }
        open_files = self._open_files.among(files) if files else set()
        self._were_open |= open_files
        self._count(pairs, seen, truth, open_files)
        suspects = {
            pair: (reply, reported)
            for pair, reply, reported in zip(pairs, seen, truth, strict=True)
            if differences(reply, reported)
            or (reply.is_hit and (pair.path in open_files or _is_unkept(pair, reply)))
        }
        excused: set[Excuse] = set()
        for asked in range(1_000_000):
            for pair, (reply, reported) in list(suspects.items()):
                wrong = differences(reply, reported)
                if not wrong and reply.is_hit and _is_unkept(pair, reply):
                    wrong = ["answered from memory what is never kept"]
                if not wrong and reply.is_hit and self._open_files.among(open_files & {pair.path}):
                    wrong = ["an open file answered from memory"]
                if not wrong:
                    del suspects[pair]
                elif excuses := self._excuses.of_fields(pair.path, reply, reported):
                    excused.update(excuses)
                    del suspects[pair]
                elif not self._may_wait(operation, pair, reply, reported, asked, since, excused):
                    self._tell(operation, pair, wrong)
                    del suspects[pair]
            if not suspects:
                break
            time.sleep(_PAUSE_S)
            self._namenode.send(list(suspects))
            again = self._proxy.ask(list(suspects))
            suspects = {
                pair: (reply, self._namenode.receive())
                for pair, reply in zip(list(suspects), again, strict=True)
            }
        self._excuses.met.update(excused)

    def _may_wait(
        self,
        operation: Operation,
        pair: Pair,
        reply: RawReply,
        reported: RawReply,
        asked: int,
        since: float,
        excused: set[Excuse],
    ) -> bool:
        """Return whether an answer that differs may be requested again; add its exception to `excused`."""
        if asked < _FORWARDED_AGAIN and was_forwarded(reply):
            return True  # it is the NameNode's own answer, so the status has changed in between
        if reply.started_at - since > MAX_STALENESS_S:
            return False
        if operation.where is CallTarget.NAMENODE:
            return True
        excuse = self._excuses.of_delay(operation, pair.path, reported)
        if excuse is None:
            return False
        excused.add(excuse)
        return True

    def _tell(self, operation: Operation, pair: Pair, wrong: list[str]) -> None:
        self.figures.wrong.append(
            f"seed {self._seed}, step {self._step}, {operation}: {pair.path} for {pair.user}: {wrong}"
        )
        self.figures.stale_after_write += operation.where is CallTarget.PROXY

    def _count(
        self, pairs: Sequence[Pair], seen: Sequence[RawReply], truth: Sequence[RawReply], open_files: set[str]
    ) -> None:
        for pair, reply, reported in zip(pairs, seen, truth, strict=True):
            if pair.user in self._proxied.way.impostors:
                self.figures.impostors += 1
                if reply.status not in {401, 403}:
                    self.figures.given_away += 1
                    self.figures.wrong.append(
                        f"seed {self._seed}, step {self._step}: {pair.path} for {pair.user}, who has no right: "
                        f"{reply.status} {reply.body[:300]!r}"
                    )
            if reply.status in {200, 404} and reported.status in {200, 404}:
                about = _about(pair.path, reported, open_files)
                self.figures.answers[about] += 1
                self.figures.hits[about] += reply.is_hit


def _is_unkept(pair: Pair, reply: RawReply) -> bool:
    """Return whether the answer must never come from memory, because no event announces its changes."""
    return _SNAPSHOT in pair.path or b'"snapshotEnabled":true' in reply.body


def _about(path: str, reported: RawReply, open_files: set[str]) -> ReplyCheck:
    """Return the subject of an answer, from the NameNode's answer for the path."""
    status = status_of(reported)
    if _SNAPSHOT in path or (status is not None and "snapshotEnabled" in status):
        return ReplyCheck.UNCACHEABLE
    if status is None:
        return ReplyCheck.MISSING
    if status["type"] == "DIRECTORY":
        return ReplyCheck.DIRECTORY
    return ReplyCheck.OPEN_FILE if path in open_files else ReplyCheck.CLOSED_FILE


def run_for(
    proxied_cluster: ProxiedCluster,
    *,
    seed: int,
    operations: int,
    reads_log: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> Figures:
    """Run one seed in a directory of its own; see `Differential` for `reads_log`."""
    root = f"/differential/{seed}-{time.time_ns()}"
    return Differential(proxied_cluster, seed=seed, root=root, reads_log=reads_log).run(operations, progress)
