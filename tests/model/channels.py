"""The channels by which the model's proxy receives changes, and the faults of each."""

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial

from nncache.hadoop.events import Unlink
from nncache.invalidation.edits.direct import DirectInotifyEventInputStream, EditsInputStream
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.follower.stream import ZooKeeperInotifyEventInputStream
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.settings import PollingSettings
from nncache.invalidation.stream import InotifyEventInputStream
from tests.coordination.fake_tree import SUPERUSER
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation.fakes import FakePool
from tests.invalidation.publisher.fake_cluster import (
    ACL,
    OURS,
    PROXY,
    ZNODES,
    FakeCluster,
    FakeFilters,
    FakeProcess,
)
from tests.invalidation.virtual_time import clock
from tests.model.cluster import Cluster
from tests.model.journal import ModelJournal
from tests.model.namespace import Step
from tests.setup import channel_setup

GLOBS = ("/a", "/a/*", "/a/b/*", "/a/b/d/*", "/c/*", "/")
"""The globs of the paths that may be answered from memory."""


class ChannelName(Enum):
    """The built-in channels, by their names in the settings, and both with edits from JournalNodes."""

    DIRECT = "direct"
    ZOOKEEPER = "zookeeper"
    JOURNALNODES = "journalnodes"
    PUBLISHED = "published from journalnodes"


def polling(interval_s: float) -> PollingSettings:
    """Return polling settings with this interval, no limit on cost, and no roll of the edit log."""
    return PollingSettings(poll_interval_s=interval_s, poll_budget_share=1.0, roll_interval_s=0)


class Direct:
    """The direct channel: the proxy reads the edits itself.

    Attributes:
        tells_each_event: no event is merged or left out on the way.
        at_first_sight: a change may be reported before it is durable, so it may never be in the log.
        filters_changed: number of changes of the filters so far.
    """

    tells_each_event = True
    at_first_sight = False
    filters_changed = 0

    def __init__(
        self, cluster: Cluster, pool: FakePool, settings: PollingSettings, globs: Sequence[str]
    ) -> None:
        self.stream: InotifyEventInputStream = DirectInotifyEventInputStream(
            channel_setup(pool, clock, polling=settings)
        )

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Do nothing: the channel has no other process."""

    def shown_to_strangers(self) -> str:
        """Return a znode that strangers may read or change; "" if there is none."""
        return ""

    def befall(self, number: int) -> str:
        """Cause a fault of the channel; return the feature that it adds to the history."""
        return ""

    def heal(self) -> None:
        """Do nothing: the channel has no faults of its own."""

    async def stop(self) -> None:
        """Shut the stream down."""
        await self.stream.shut_down()


class FromJournalNodes(Direct):
    """The direct channel with edits from the JournalNodes."""

    at_first_sight = True

    def __init__(
        self, cluster: Cluster, pool: FakePool, settings: PollingSettings, globs: Sequence[str]
    ) -> None:
        self._journal = ModelJournal(cluster)
        self.stream: InotifyEventInputStream = EditsInputStream(
            self._journal.source(pool, lambda: 0.5, at_first_sight=True)
        )

    def befall(self, number: int) -> str:
        """Cause a fault of the JournalNodes."""
        return self._journal.befall(number)

    def heal(self) -> None:
        """End all faults of the JournalNodes."""
        self._journal.heal()


class _FilterWriter:
    """Writes changes of filters as transactions of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def unlink(self, path: str) -> None:
        """Log the deletion of a path below the filters' directory."""
        self._cluster.write(lambda now, _: [Step(now, (Unlink(path),))])


class ThroughZooKeeper(Direct):
    """The ZooKeeper channel: a publisher writes the edits to ZooKeeper, and the proxy reads them there."""

    tells_each_event = False

    def __init__(
        self, cluster: Cluster, pool: FakePool, settings: PollingSettings, globs: Sequence[str]
    ) -> None:
        self.filters_changed = 0
        self._globs = globs
        self._zookeeper = FakeZooKeeper(clock)
        self._filters = FakeFilters(_FilterWriter(cluster))  # type: ignore[arg-type]  # nothing else is asked of it
        self._fakes = FakeCluster(
            settings=PublisherSettings(max_records_per_filter=8, max_changes_per_record=6, **ACL),
            polling=settings,
            namenodes=cluster.namenodes,
            pool=pool,
            zookeeper=self._zookeeper,
            filters=self._filters,
            outsider=self._zookeeper.session(SUPERUSER),
            who=OURS,
            other_source=self._other_source(cluster, pool),
        )
        self._session = self._zookeeper.session(frozenset({PROXY}))
        self.stream: InotifyEventInputStream = ZooKeeperInotifyEventInputStream(
            channel_setup(pool, clock, polling=settings), connect=lambda _settings, _clock: self._session
        )
        for number in range(len(globs)):
            self._put(number)
        self._process: tuple[FakeProcess, asyncio.Task[None]] | None = None
        self._tasks: asyncio.TaskGroup | None = None

    def _other_source(self, _cluster: Cluster, _pool: FakePool) -> Callable[[], EditsSource] | None:
        """Return a factory of the publishers' edit sources; None if the publishers read the NameNode."""
        return None

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Start the publisher."""
        self._tasks = tasks
        self._start()

    def shown_to_strangers(self) -> str:
        """Return a znode whose ACL admits more than service, proxy and the filter's owner; "" for none."""
        tree = self._zookeeper.tree
        for path in tree.paths:
            named = path.removeprefix(f"{ZNODES.namespace}/").removeprefix(".filters/").partition("/")[0]
            allowed = {*OURS, PROXY, ("sasl", f"owner-of-{named}@R")}
            others = [entry for entry in tree.acl(path).acl if (entry.scheme, entry.id) not in allowed]
            if others:
                return f"{path} is shown to {others[0]}"
        return ""

    def befall(self, number: int) -> str:
        """Cause a fault of ZooKeeper or of the publisher, or change the filters."""
        kinds: tuple[tuple[str, Callable[[], None]], ...] = (
            ("crash", self._kill),
            ("crash", self._start),
            ("lost session", self._expire),
            ("lost session", partial(self._zookeeper.disconnect, self._session)),
            ("lost session", self._zookeeper.disconnect),
            ("", self._zookeeper.connect),
            ("gap", self._wipe),
            ("", partial(self._zookeeper.forget_watches, self._session)),
            ("crash", self._lose_commit),
            ("filters", partial(self._toggle, number // 16)),
            ("filters", partial(self._modify, number // 16)),
            ("filters", partial(self._replace, number // 16)),
        )
        kind, act = kinds[number % len(kinds)]
        act()
        return kind

    def heal(self) -> None:
        """End all faults."""
        self._zookeeper.connect()
        if self._process is None:
            self._start()

    async def stop(self) -> None:
        """Stop the publisher and shut the stream down."""
        self._kill()
        await self.stream.shut_down()

    def _put(self, number: int) -> None:
        self._filters.put(f"f{number}", self._globs[number], owner=f"owner-of-f{number}")
        self.filters_changed += 1

    def _toggle(self, number: int) -> None:
        number %= len(self._globs)
        if f"f{number}" in self._filters.filters:
            self._filters.remove(f"f{number}")
            self.filters_changed += 1
        else:
            self._put(number)

    def _modify(self, number: int) -> None:
        """Set a filter's glob to one that matches no path of the model, or back to its own."""
        number %= len(self._globs)
        known = self._filters.filters.get(f"f{number}")
        if known is None or known.path_glob != self._globs[number]:
            self._put(number)
        else:
            self._filters.put(f"f{number}", f"/elsewhere{number}", owner=known.owner)
            self.filters_changed += 1

    def _replace(self, number: int) -> None:
        """Remove a filter and add it again immediately."""
        number %= len(self._globs)
        self._filters.remove(f"f{number}")
        self._put(number)

    def _start(self) -> None:
        if self._process is None:
            assert self._tasks is not None
            process = FakeProcess(self._fakes, "a", self._zookeeper.session(OURS), self._fakes.settings)
            self._process = process, self._tasks.create_task(process.publisher.run())

    def _kill(self) -> None:
        """Kill the publisher without a clean shutdown: its session stays until it expires."""
        if self._process is not None:
            (process, task), self._process = self._process, None
            self._zookeeper.disconnect(process.session)
            process.source.stop()
            task.cancel()

    def _expire(self) -> None:
        if self._session.session_id:
            self._zookeeper.expire(self._session)

    def _wipe(self) -> None:
        self._zookeeper.wipe()

    def _lose_commit(self) -> None:
        self._zookeeper.lose_next_commit(after=True)


class PublishedFromJournalNodes(ThroughZooKeeper):
    """The ZooKeeper channel with a publisher that reads the edits of the JournalNodes."""

    _journal: ModelJournal

    def _other_source(self, cluster: Cluster, pool: FakePool) -> Callable[[], EditsSource] | None:
        self._journal = ModelJournal(cluster)
        return lambda: self._journal.source(pool, lambda: 0.5, at_first_sight=False)

    def befall(self, number: int) -> str:
        """Cause a fault of the JournalNodes, of ZooKeeper or of the publisher, or change the filters."""
        return self._journal.befall(number // 4) if number % 4 else super().befall(number // 4)

    def heal(self) -> None:
        """End all faults."""
        self._journal.heal()
        super().heal()


CHANNELS: dict[ChannelName, Callable[[Cluster, FakePool, PollingSettings, Sequence[str]], Direct]] = {
    ChannelName.DIRECT: Direct,
    ChannelName.ZOOKEEPER: ThroughZooKeeper,
    ChannelName.JOURNALNODES: FromJournalNodes,
    ChannelName.PUBLISHED: PublishedFromJournalNodes,
}
