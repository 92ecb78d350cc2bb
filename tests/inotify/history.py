"""Play one history: the parts of a service suffer faults while HDFS changes."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed.errors import ServerStartError
from nncache.testbed.zookeepers import leader_of
from tests.inotify.edit_log import events_between
from tests.inotify.plan import OF_STREAMS, QUIET_S, Fault, Kind
from tests.inotify.real_cluster import FILTERS, SESSION_S, Member, Observer, RealCluster
from tests.inotify.subscriber_log import Begins, Event, Gap, Modified, SubscriberLog, subscriber_log
from tests.inotify.verdict import Verdict, judge
from tests.inotify.workload import Workload
from tests.patience import HANG_S
from tests.real.beside import beside, on_hdfs
from tests.real.faults import Break, broken, carry_out, handed_over, killed, paused

MEASURED: Final = (Kind.LEADER_KILLED, Kind.LEADER_HANDS_OVER)
"""For these faults the time until the next leader publishes is measured, if no other fault overlaps."""

_END: Final = "end"
_PATTERNS: Final = {
    "{below}/a/*": "{}/a/[^/]+",
    "{below}/*/x*": "{}/[^/]+/x[^/]*",
    "{below}/b/*": "{}/b/[^/]+",
    "{below}/c/*": "{}/c/[^/]+",
}
"""The globs of FILTERS as regular expressions: an independent matcher to compare with."""

Trouble: TypeAlias = AbstractContextManager[None]
"""A context manager that breaks something while it is entered."""


@dataclass(slots=True, kw_only=True)
class Played:
    """The results of a history."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)  # by subscriber
    takeovers: list[tuple[Kind, float]] = field(
        default_factory=list
    )  # seconds until the next leader published
    elections: int = 0
    deposed: int = 0  # leaders that lost the lock to another while their connections to ZooKeeper were held
    calls: int = 0  # to HDFS
    modified: int = 0  # times that an `nncache watch` reported a modified filter
    resumed: int = 0  # streams over HTTP that resumed after an earlier one had ended
    refused: int = 0  # streams over HTTP that were refused to permitted subscribers


def play(real_cluster: RealCluster, faults: Sequence[Fault], seconds: float, seed: int) -> Played:
    """Play the history to its end, mend all parts, and judge what each subscriber received."""
    player, workload = _Player(real_cluster), Workload(real_cluster.below, seed)
    with beside(partial(workload.run, real_cluster.cluster)):
        player.run(faults, seconds)
    _await_end(real_cluster)
    played = player.played
    played.calls = workload.calls
    played.elections = len(real_cluster.observer.elections)
    heard = {
        (who, name): subscriber_log(follower.lines()) for who, name, follower in real_cluster.followers()
    }
    began = min(item.after for items in heard.values() for item in items[:1] if isinstance(item, Begins))
    log = events_between(real_cluster.cluster, began + 1, 1 << 62, real_cluster.below)
    patterns = {
        glob.format(below=real_cluster.below): re.compile(pattern.format(re.escape(real_cluster.below)))
        for glob, pattern in _PATTERNS.items()
    }

    def matches(glob: str, event: Event) -> bool:
        return any(map(patterns[glob].fullmatch, event.paths))

    for (who, name), items in heard.items():
        spelled = [glob.format(below=real_cluster.below) for glob in FILTERS[name]]
        glob_at = in_force(items, real_cluster.globs[name], spelled, matches)
        wanted = [event for event in log if matches(glob_at(event.txid), event)]
        played.verdicts[who] = judge(items, wanted)
        if who in real_cluster.subscribers:
            played.modified += sum(isinstance(item, Modified) for item in items)
    played.resumed = sum(stream.resumed for stream in real_cluster.streams.values())
    played.refused = sum(len(stream.refused) for stream in real_cluster.streams.values())
    played.takeovers = [
        (kind, took_s)
        for kind, at_s in player.measured
        if (took_s := took_over_after(real_cluster.observer, at_s)) is not None
    ]
    return played


def in_force(
    history: Sequence[SubscriberLog], last: str, globs: Sequence[str], matches: Callable[[str, Event], bool]
) -> Callable[[int], str]:
    """Return a function from a transaction id to the glob in force for it.

    A gap may hide a modification of the filter. The events between two gaps are judged by the modifications reported
    between them, or, if there is none, by the glob that the first event matches. `last` is HDFS's glob at the end.
    """
    parts: list[list[SubscriberLog]] = [[]]
    for item in history:
        if isinstance(item, Gap):
            parts.append([])
        else:
            parts[-1].append(item)
    changes: list[tuple[int, str]] = []  # last transactions, and the glob in force up to each; in order
    known = last
    for part in reversed(parts):
        modified = [item for item in part if isinstance(item, Modified)]
        events = [item for item in part if isinstance(item, Event)]
        if not modified and events:
            fitting = [glob for glob in globs if matches(glob, events[0])]
            if fitting and known not in fitting:
                changes.insert(0, (events[-1].txid, fitting[0]))
                known = fitting[0]
        for item in reversed(modified):
            after = [event for event in events if event.txid > item.after]
            if item.now != known and after:
                changes.insert(0, (after[-1].txid, item.now))
            changes.insert(0, (item.after, item.before))
            known = item.before

    def glob_at(txid: int) -> str:
        return next((glob for through, glob in changes if txid <= through), last)

    return glob_at


def took_over_after(observer: Observer, at_s: float) -> float | None:
    """Return the seconds from a moment until the next elected leader writes its first record; None: it wrote none."""
    election = next((each for each in observer.elections if each.at_s >= at_s), None)
    if election is None:
        return None
    record = next((each for each in observer.records if each.zxid > election.zxid), None)
    return None if record is None else record.at_s - at_s


class _Player:
    def __init__(self, real_cluster: RealCluster) -> None:
        self._stand = real_cluster
        self.played = Played()
        self.measured: list[tuple[Kind, float]] = []  # with the time of each fault

    def run(self, faults: Sequence[Fault], seconds: float) -> None:
        alone = {fault for fault in faults if _is_alone(fault, faults)}
        carry_out(
            faults,
            seconds,
            lambda fault: self._trouble(fault, is_measured=fault in alone and fault.kind in MEASURED),
        )

    def _trouble(self, fault: Fault, *, is_measured: bool) -> Trouble:
        of_leader: dict[Kind, Callable[[Member], Trouble]] = {
            Kind.LEADER_KILLED: _killed,
            Kind.LEADER_HANDS_OVER: lambda member: handed_over(member.publisher.process),
            Kind.LEADER_STOPPED: lambda member: paused(member.publisher.process),
            Kind.LEADER_DEPOSED: self._deposed,
            Kind.LEADER_WITHOUT_ZOOKEEPER: lambda member: broken(member.to_zookeeper, fault.way),
            Kind.LEADER_WITHOUT_NAMENODE: lambda member: broken(member.to_namenode, fault.way),
        }
        if fault.kind in of_leader:
            measured = fault.kind if is_measured else None
            return self._on(self._stand.leader(), of_leader[fault.kind], measured)
        match fault.kind:
            case Kind.STANDBY_KILLED:
                return self._on(self._stand.standby(), _killed)
            case Kind.ZOOKEEPER_LEADER_KILLED:
                with suppress(ServerStartError):
                    return killed(leader_of(self._stand.zookeepers).process)
            case Kind.FILTER_MODIFIED:
                self._stand.modify("f2")
            case Kind.SUBSCRIBER_STOPPED:
                return paused(self._stand.subscribers["f1"].process)
            case Kind.STREAMS_BROKEN:
                return broken((self._stand.to_proxy,), fault.way)
            case Kind.PROXY_WITHOUT_ZOOKEEPER:
                return broken(self._stand.proxy_to_zookeeper, fault.way)
            case Kind.PROXY_KILLED:
                process = self._stand.proxy.process
                return nullcontext() if process.pid is None else killed(process)
            case _:
                raise AssertionError(fault.kind)
        return nullcontext()

    def _on(
        self, member: Member | None, trouble: Callable[[Member], Trouble], measured: Kind | None = None
    ) -> Trouble:
        """Return the trouble of a publisher; no trouble if the publisher does not run."""
        if member is None or member.publisher.process.pid is None:
            return nullcontext()
        if measured is not None:
            self.measured.append((measured, time.monotonic()))
        return trouble(member)

    @contextmanager
    def _deposed(self, member: Member) -> Iterator[None]:
        """Have another leader elected while the old leader's session lives and its connections are held."""
        elections = len(self._stand.observer.elections)
        with broken(member.to_zookeeper, Break.HELD):
            time.sleep(0.1)  # so that some data is in flight: there are 40 changes a second
            self._stand.observer.depose()
            until = time.monotonic() + SESSION_S / 2
            while len(self._stand.observer.elections) == elections and time.monotonic() < until:
                time.sleep(0.01)
            self.played.deposed += len(self._stand.observer.elections) > elections
        yield


def _killed(member: Member) -> Trouble:
    return killed(member.publisher.process)


def _is_alone(fault: Fault, faults: Sequence[Fault]) -> bool:
    """Return whether no other fault happens shortly before, or before the next leader must have published."""
    others = (each for each in faults if each is not fault and each.kind not in OF_STREAMS)
    return all(
        each.at_s + each.lasts_s + QUIET_S <= fault.at_s or each.at_s >= fault.at_s + SESSION_S + QUIET_S
        for each in others
    )


def _await_end(real_cluster: RealCluster) -> None:
    """Wait until all parts work again, and each subscriber has received an event of a later change."""
    for server in real_cluster.zookeepers:
        server.process.await_up()
    for member in real_cluster.members:
        member.publisher.process.await_up()
    real_cluster.proxy.process.await_up()
    followers = {who: follower for who, _, follower in real_cluster.followers()}
    seen: set[str] = set()
    deadline = time.monotonic() + HANG_S
    for number in count():
        names = (f"a/xy{_END}{number}", f"b/{_END}{number}", f"c/{_END}{number}")

        async def mark(hdfs: WebHdfs, names: tuple[str, ...] = names) -> None:
            for name in names:
                await hdfs.mkdirs(f"{real_cluster.below}/{name}")

        on_hdfs(real_cluster.cluster, mark)
        until = time.monotonic() + 2.0
        while time.monotonic() < until and len(seen) < len(followers):
            for who, follower in followers.items():
                if any(_is_mark(each) for each in subscriber_log(follower.lines())):
                    seen.add(who)
            time.sleep(0.1)
        if len(seen) == len(followers):
            return
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(followers.keys() - seen))
            words = followers[min(followers.keys() - seen)].last_words()
            raise ServerStartError(f"the subscribers of {missing} are told nothing more; {words}")


def _is_mark(item: object) -> bool:
    return isinstance(item, Event) and _END in item.paths[0].rpartition("/")[2]
