"""The exceptions that the design names, each with its reason; no other difference is excused.

Each is considered only where it can occur, and is still judged: by its duration or its fields. Each difference that it
excuses is counted. docs/guarantees.md states the exceptions with the guarantees.
"""

import http.client
import json
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Final

from nncache.testbed.asker import RawReply
from tests.differential import operation as kinds
from tests.differential.operation import Operation, file_id
from tests.real.proxied_cluster import MAX_STALENESS_S, CallTarget, ProxiedCluster

MAX_ENTRY_AGE_S: Final = 10.0
"""The proxy's `max_entry_age_s` where only events are read: changes without an event must be seen after this time."""


@dataclass(frozen=True, slots=True)
class NamedException:
    """A row of the table.

    Attributes:
        of: the guarantee that it is an exception of.
        judged: the condition that must hold nevertheless.
    """

    of: str
    reason: str
    judged: str


_WITHIN_BOUND: Final = f"seen within {MAX_STALENESS_S:g} s"


class Excuse(Enum):
    """The table of named exceptions."""

    POLICY = NamedException(
        "Bounded",
        "HDFS announces no change of a storage policy, made behind the proxy's back, by any event",
        f"storagePolicy alone differs, at or below the directory, for max_entry_age ({MAX_ENTRY_AGE_S:g} s) at most",
    )
    SNAPSHOTTABLE = NamedException(
        "Bounded",
        "HDFS announces no snapshot, and not that a directory may have them, by any event",
        "snapshotEnabled and modificationTime alone differ, of that directory, as it was before it might have any, "
        f"for {MAX_ENTRY_AGE_S:g} s at most",
    )
    RECOVERY = NamedException(
        "OwnWrites",
        "a file cut inside a block gets its new length when the NameNode recovers the block, by itself and later",
        _WITHIN_BOUND,
    )
    REMADE = NamedException(
        "OwnWrites",
        "an ancestor was deleted behind the proxy's back milliseconds before MKDIRS through it made it again",
        _WITHIN_BOUND + ", the directory asked for at once",
    )
    RACED = NamedException(
        "OwnWrites",
        "another writer finished the same file between the two steps of a write through the proxy",
        _WITHIN_BOUND,
    )
    ALIASED = NamedException(
        "OwnWrites",
        "a two-step write to /.reserved/.inodes/ID: nobody knows its path before its events arrive",
        _WITHIN_BOUND,
    )
    LATE = NamedException(
        "OwnWrites", "the second step of a write through the proxy began after two_step_window", _WITHIN_BOUND
    )


OF_EVENTS: Final = frozenset({Excuse.POLICY, Excuse.SNAPSHOTTABLE})
"""Exceptions that apply only where events alone are read: the edit log has the changes that events omit."""


_BY_KIND: Final = {
    kinds.REMADE: Excuse.REMADE,
    kinds.RACED: Excuse.RACED,
    kinds.ALIASED: Excuse.ALIASED,
    f"{kinds.LATE}: the end": Excuse.LATE,
}
_SNAPSHOT_CALLS: Final = {
    "ALLOWSNAPSHOT",
    "DISALLOWSNAPSHOT",
    "CREATESNAPSHOT",
    "DELETESNAPSHOT",
    "RENAMESNAPSHOT",
}
_POLICY_CALLS: Final = {"SETSTORAGEPOLICY", "UNSETSTORAGEPOLICY"}
_RECOVERS: Final = b'{"boolean":false}'  # the answer to TRUNCATE when the last block has to be cut


class Excuses:
    """The exceptions that apply at present, given the operations of a run so far."""

    def __init__(self, *, reads_log: bool = False) -> None:
        """Apply no exception of events if the edit log is read (edits_source)."""
        self._reads_log = reads_log
        self.met: Counter[Excuse] = Counter()  # differences that each has excused
        self._policies: dict[str, float] = {}  # directory -> when its policy was changed without an event
        self._snapshots: dict[str, float] = {}  # directory -> when its snapshot fields were
        self._cut: set[int | None] = set()  # ids of files that were cut inside a block

    def learn(self, operation: Operation, done: RawReply, proxied_cluster: ProxiedCluster) -> None:
        """Record an operation that the NameNode accepted."""
        path = operation.paths[0]
        if operation.kind == "TRUNCATE" and done.body == _RECOVERS:
            self._cut.add(file_id(proxied_cluster, path))
        if self._reads_log or operation.where is not CallTarget.NAMENODE:
            return
        if operation.kind in _POLICY_CALLS:
            self._policies[path] = done.ended_at
        if operation.kind in _SNAPSHOT_CALLS:
            self._snapshots[path] = done.ended_at

    def of_fields(self, path: str, seen: RawReply, truth: RawReply) -> tuple[Excuse, ...]:
        """Return the exceptions that permit an answer from memory to differ for now; empty: none does."""
        ours, theirs = status_of(seen), status_of(truth)
        if not seen.is_hit or ours is None or theirs is None or ours.keys() - theirs.keys():
            return ()
        differing = {name for name in theirs if ours.get(name) != theirs[name]}
        excuses: dict[Excuse, set[str]] = {}
        if any(_is_at_or_below(path, place) for place in _recent(self._policies, seen)):
            excuses[Excuse.POLICY] = differing & {"storagePolicy"}
        if path in _recent(self._snapshots, seen) and "snapshotEnabled" not in ours:
            excuses[Excuse.SNAPSHOTTABLE] = differing & {"snapshotEnabled", "modificationTime"}
        if differing - set().union(*excuses.values()):
            return ()
        return tuple(excuse for excuse, fields in excuses.items() if fields)

    def of_delay(self, operation: Operation, path: str, truth: RawReply) -> Excuse | None:
        """Return the exception that permits a write through the proxy to be seen later, within the bound, or None."""
        status = status_of(truth)
        if status is not None and status["fileId"] in self._cut:
            return Excuse.RECOVERY
        excuse = _BY_KIND.get(operation.kind)
        if excuse is Excuse.REMADE and path == operation.paths[0]:
            return None
        return excuse


def status_of(reply: RawReply) -> dict[str, object] | None:
    """Return the fields of a FileStatus; None: the reply has none."""
    return dict(json.loads(reply.body)["FileStatus"]) if reply.status == http.client.OK else None


def _recent(places: dict[str, float], seen: RawReply) -> list[str]:
    return [place for place, since in places.items() if seen.started_at - since <= MAX_ENTRY_AGE_S]


def _is_at_or_below(path: str, place: str) -> bool:
    return path == place or path.startswith(place + "/")
