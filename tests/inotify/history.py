"""Play one history: faults befall the parts of a service while HDFS changes."""

import heapq
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, assert_never

from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Relay
from nncache.testbed.errors import StartError
from tests.inotify.edit_log import events_between
from tests.inotify.plan import OF_STREAMS, QUIET_S, Break, Fault, Kind
from tests.inotify.real_cluster import FILTERS, SESSION_S, Member, Observer, RealCluster
from tests.inotify.subscriber_log import Begins, Event, Gap, Modified, SubscriberLog, subscriber_log
from tests.inotify.verdict import Verdict, judge
from tests.inotify.workload import Workload
from tests.patience import HANG_S

MEASURED: Final = (Kind.LEADER_KILLED, Kind.LEADER_HANDS_OVER)
"""How long it takes until the next leader publishes is measured, if nothing else happens meanwhile."""

_END: Final = "end"
_PATTERNS: Final = {
    "{below}/a/*": "{}/a/[^/]+",
    "{below}/*/x*": "{}/[^/]+/x[^/]*",
    "{below}/b/*": "{}/b/[^/]+",
    "{below}/c/*": "{}/c/[^/]+",
}
"""The globs of FILTERS once more: what they match is not what is compared with itself."""

Undo = Callable[[], None]


@dataclass(slots=True, kw_only=True)
class Played:
    """What a history showed."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)  # by subscriber
    takeovers: list[tuple[Kind, float]] = field(
        default_factory=list
    )  # seconds until the next leader published
    elections: int = 0
    deposed: int = 0  # leaders that another was elected over while they could not hear of it
    calls: int = 0  # to HDFS
    modified: int = 0  # times that an `nncache watch` was told of a modified filter
    resumed: int = 0  # streams over HTTP that went on where one had ended
    refused: int = 0  # streams over HTTP that were refused to those who may read them


def play(real_cluster: RealCluster, faults: Sequence[Fault], seconds: float, seed: int) -> Played:
    """Play it to its end, with all parts mended, and judge what each subscriber was told."""
    player, namenode = _Player(real_cluster), real_cluster.cluster.namenodes[0]
    with Workload(namenode.http, real_cluster.cluster.superuser, real_cluster.below, seed) as workload:
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
    """Return what tells the glob in force for a transaction.

    A gap may cover that a filter was modified. What was told between two gaps is judged by what was said there of
    modifications; where nothing was, by the glob that its first event matches. `last` is what HDFS has in the end.
    """
    parts: list[list[SubscriberLog]] = [[]]
    for item in history:
        if isinstance(item, Gap):
            parts.append([])
        else:
            parts[-1].append(item)
    changes: list[tuple[int, str]] = []  # up to which transaction which glob was in force, in order
    known = last
    for part in reversed(parts):
        said = [item for item in part if isinstance(item, Modified)]
        events = [item for item in part if isinstance(item, Event)]
        if not said and events:
            fitting = [glob for glob in globs if matches(glob, events[0])]
            if fitting and known not in fitting:
                changes.insert(0, (events[-1].txid, fitting[0]))
                known = fitting[0]
        for item in reversed(said):
            after = [event for event in events if event.txid > item.after]
            if item.now != known and after:
                changes.insert(0, (after[-1].txid, item.now))
            changes.insert(0, (item.after, item.before))
            known = item.before

    def glob_at(txid: int) -> str:
        return next((glob for through, glob in changes if txid <= through), last)

    return glob_at


def took_over_after(observer: Observer, at_s: float) -> float | None:
    """Return the seconds from a moment to the first record of the leader that was elected next."""
    election = next((each for each in observer.elections if each.at_s >= at_s), None)
    if election is None:
        return None
    record = next((each for each in observer.records if each.zxid > election.zxid), None)
    return None if record is None else record.at_s - at_s


class _Player:
    def __init__(self, real_cluster: RealCluster) -> None:
        self._stand = real_cluster
        self.played = Played()
        self.measured: list[tuple[Kind, float]] = []  # and when that was

    def run(self, faults: Sequence[Fault], seconds: float) -> None:
        began, order = time.monotonic(), count()
        due: list[tuple[float, int, Callable[[], object]]] = []
        alone = {fault for fault in faults if _is_alone(fault, faults)}
        undos: list[Undo] = []

        def later(at_s: float, act: Callable[[], object]) -> None:
            heapq.heappush(due, (at_s, next(order), act))

        def begin(fault: Fault) -> None:
            undo = self._break(fault, is_measured=fault in alone and fault.kind in MEASURED)
            undos.append(undo)
            later(fault.at_s + fault.lasts_s, partial(end, undo))

        def end(undo: Undo) -> None:
            undos.remove(undo)
            undo()

        for fault in faults:
            later(fault.at_s, partial(begin, fault))
        later(seconds, lambda: None)
        try:
            while due:
                at_s, _, act = heapq.heappop(due)
                time.sleep(max(0.0, began + at_s - time.monotonic()))
                act()
        finally:
            for undo in undos:
                undo()

    def _break(self, fault: Fault, *, is_measured: bool) -> Undo:
        leader = self._stand.leader()
        match fault.kind:
            case Kind.STANDBY_KILLED:
                return self._on(self._stand.standby(), self._killed)
            case Kind.ZOOKEEPER_LEADER_KILLED:
                return self._zookeeper_leader_killed()
            case Kind.FILTER_MODIFIED:
                self._stand.modify("f2")
                return lambda: None
            case Kind.SUBSCRIBER_STOPPED:
                process = self._stand.subscribers["f1"].process
                process.pause()
                return process.resume
            case Kind.STREAMS_BROKEN | Kind.PROXY_KILLED | Kind.PROXY_WITHOUT_ZOOKEEPER:
                return self._break_streams(fault)
            case Kind.LEADER_KILLED:
                return self._on(leader, self._killed, fault.kind if is_measured else None)
            case Kind.LEADER_HANDS_OVER:
                return self._on(leader, self._handed_over, fault.kind if is_measured else None)
            case Kind.LEADER_STOPPED:
                return self._on(leader, self._stopped)
            case Kind.LEADER_DEPOSED:
                return self._on(leader, self._deposed)
            case Kind.LEADER_WITHOUT_ZOOKEEPER:
                return self._on(leader, lambda member: _broken(member.to_zookeeper, fault.way))
            case Kind.LEADER_WITHOUT_NAMENODE:
                return self._on(leader, lambda member: _broken(member.to_namenode, fault.way))
            case _:
                assert_never(fault.kind)

    def _on(self, member: Member | None, act: Callable[[Member], Undo], measured: Kind | None = None) -> Undo:
        """Do something to a publisher, unless there is none to do it to."""
        if member is None or member.publisher.process.pid is None:
            return lambda: None
        if measured is not None:
            self.measured.append((measured, time.monotonic()))
        return act(member)

    def _killed(self, member: Member) -> Undo:
        member.publisher.kill()
        return member.publisher.process.launch

    def _handed_over(self, member: Member) -> Undo:
        member.publisher.process.terminate()

        def again() -> None:
            member.publisher.stop()
            member.publisher.process.launch()

        return again

    def _stopped(self, member: Member) -> Undo:
        member.publisher.process.pause()
        return member.publisher.process.resume

    def _deposed(self, member: Member) -> Undo:
        """Have another one elected while the leader's session lives and its bytes wait."""
        elections = len(self._stand.observer.elections)
        mend = _broken(member.to_zookeeper, Break.HELD)
        time.sleep(0.1)  # so that something is on its way: there are 40 changes a second
        self._stand.observer.depose()
        until = time.monotonic() + SESSION_S / 2
        while len(self._stand.observer.elections) == elections and time.monotonic() < until:
            time.sleep(0.01)
        self.played.deposed += len(self._stand.observer.elections) > elections
        mend()
        return lambda: None

    def _break_streams(self, fault: Fault) -> Undo:
        if fault.kind is Kind.STREAMS_BROKEN:
            return _broken((self._stand.to_proxy,), fault.way)
        if fault.kind is Kind.PROXY_WITHOUT_ZOOKEEPER:
            return _broken(self._stand.proxy_to_zookeeper, fault.way)
        process = self._stand.proxy.process
        if process.pid is None:
            return lambda: None
        process.kill()
        return process.launch

    def _zookeeper_leader_killed(self) -> Undo:
        try:
            server = self._stand.zookeeper.leader()
        except StartError:
            return lambda: None
        server.process.kill()
        return server.process.launch


def _broken(relays: Sequence[Relay], way: Break) -> Undo:
    """Break these connections; return what mends them."""
    for relay in relays:
        match way:
            case Break.CUT:
                relay.cut()
            case Break.SILENT:
                relay.black_hole()
            case Break.HELD:
                relay.hold()
            case _:
                assert_never(way)

    def mend() -> None:
        for relay in relays:
            relay.restore()

    return mend


def _is_alone(fault: Fault, faults: Sequence[Fault]) -> bool:
    """Tell whether nothing else happens shortly before, and until the next leader must have published."""
    others = (each for each in faults if each is not fault and each.kind not in OF_STREAMS)
    return all(
        each.at_s + each.lasts_s + QUIET_S <= fault.at_s or each.at_s >= fault.at_s + SESSION_S + QUIET_S
        for each in others
    )


def _await_end(real_cluster: RealCluster) -> None:
    """Wait until all is whole again, and each subscriber has been told of a change that came after that."""
    for server in real_cluster.zookeeper.servers:
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

        real_cluster.on_hdfs(mark)
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
            raise StartError(f"the subscribers of {missing} are told nothing more; {words}")


def _is_mark(item: object) -> bool:
    return isinstance(item, Event) and _END in item.paths[0].rpartition("/")[2]
