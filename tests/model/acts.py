"""The acts of a history, by name; the number of an act determines its amount, path or user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nncache.invalidation.stats import StreamStats
from tests.model import operations
from tests.model.channels import ChannelName
from tests.model.draws import DIRECTORIES, FILES, PATHS, USERS, Draw, normal
from tests.model.namespace import SUPERUSER
from tests.model.system import ModelSystem
from tests.model.waiting import wait
from tests.model.writes import APPEND, CREATE, Write, by, set_policy

_SLOWNESS_S: Final = (0.001, 0.001, 0.01, 0.1, 0.6, 2.5)


@dataclass
class Simulation:
    """A system, and the features that its history has shown."""

    system: ModelSystem
    channel: ChannelName
    features: set[str] = field(default_factory=set)

    # -- reads

    def read(self, number: int) -> None:
        """Read the status of one path as one user."""
        draw = Draw(number)
        self.system.come(self.system.read(draw.path(), draw.user()))

    def poll(self, number: int) -> None:
        """Read every other path as every user."""
        for path in PATHS[number % 2 :: 2]:
            for user in USERS:
                self.system.come(self.system.read(path, user))

    def herd(self, number: int) -> None:
        """Read the status of one path many times concurrently."""
        draw = Draw(number)
        path = draw.path()
        for _ in range(2):
            for user in USERS:
                self.system.come(self.system.read(path, user))

    def refresh(self, number: int) -> None:
        """Read a status with a cache directive that forces a call to the NameNode."""
        draw = Draw(number)
        self.system.come(self.system.read(draw.path(), draw.user(), refresh=True))

    def wait(self, number: int) -> None:
        """Wait for a changed status of one path, as several clients concurrently."""
        draw = Draw(number)
        path, wait_s, for_another, is_kept = (
            draw.path(),
            (1, 5, 30)[draw.of(3)],
            bool(draw.of(2)),
            draw.of(3) > 0,
        )
        for user in (*USERS, *USERS):
            waiting = wait(self.system, path, user, wait_s, for_another=for_another, is_kept=is_kept)
            self.system.come(waiting)

    # -- changes

    def change(self, number: int) -> None:
        """Change the namespace behind the proxy's back."""
        self.system.cluster.try_write(Draw(number).write().operation)

    def change_and_poll(self, number: int) -> None:
        """Change the namespace behind the proxy's back, during concurrent reads of one path."""
        self.herd(number // 7)
        self.change(number)

    def write(self, number: int) -> None:
        """Change the namespace through the proxy."""
        self._write(Draw(number).write())

    def change_access(self, number: int) -> None:
        """Change an owner or a mode, behind the proxy's back."""
        self.system.cluster.try_write(Draw(number).access().operation)
        self.features.add("permission change")

    def write_access(self, number: int) -> None:
        """Change an owner or a mode, through the proxy."""
        self._write(Draw(number).access())
        self.features.add("permission change")

    def write_policy(self, number: int) -> None:
        """Set a storage policy through the proxy: no event reports it."""
        self._write(set_policy(Draw(number).path()))

    def _write(self, write: Write) -> None:
        async def write_and_read() -> None:
            system = self.system
            await system.write(write)
            for path in dict.fromkeys((write.path, write.path.rpartition("/")[0] or "/a", *FILES[:4])):
                await system.read(path, USERS[len(path) % 2])

        self.system.come(write_and_read())

    def create(self, number: int) -> None:
        """Create or append to a file through the proxy, in two steps."""
        draw = Draw(number)
        path, user, takes_s = draw.file(), draw.writer(), draw.duration_s()
        follows = draw.follows()
        kind = (CREATE, APPEND)[draw.of(3) == 0]

        async def create_and_read() -> None:
            system = self.system
            await system.write_in_two_steps(kind.by(user), path, takes_s=takes_s, follows=follows)
            for reader in USERS:
                await system.read(path, reader)
                await system.read(normal(path), reader)
                await system.read(path.rpartition("/")[0], reader)

        self.features.add("open file")
        self.system.come(create_and_read())

    def open(self, number: int) -> None:
        """Create or append to a file behind the proxy's back, and leave it open."""
        draw = Draw(number)
        path = draw.file()
        opens = (operations.create, operations.append)[draw.of(2)]
        if self.system.cluster.try_write(by(SUPERUSER, opens, path)):
            self.features.add("open file")

    def flush(self, _: int) -> None:
        """Let every open file grow."""
        for path in self._open_files():
            self.system.cluster.try_write(by(SUPERUSER, operations.flush, path))

    def close(self, number: int) -> None:
        """Close an open file."""
        open_files = self._open_files()
        if open_files:
            path = open_files[number % len(open_files)]
            self.system.cluster.try_write(by(SUPERUSER, operations.close, path))

    def _open_files(self) -> list[str]:
        return [path for path, inode in self.system.cluster.present.namespace.items() if inode.is_open]

    def restore(self, _: int) -> None:
        """Create missing directories again and make all directories readable."""
        cluster = self.system.cluster
        for path in ("/a/b/d", "/c"):
            cluster.try_write(by(SUPERUSER, operations.mkdirs, path))
        for path in DIRECTORIES:
            cluster.try_write(by(SUPERUSER, operations.set_permission, path, 0o755))

    # -- troubles

    def be_slow(self, number: int) -> None:
        """Set the duration of each call to the NameNode."""
        self.system.call_takes_s = _SLOWNESS_S[number % len(_SLOWNESS_S)]

    def crash(self, number: int) -> None:
        """Crash and restart the active NameNode, or fail over to the other one."""
        cluster = self.system.cluster
        (cluster.restart if number % 2 else cluster.fail_over)()
        self.features.add("crash")

    def hold_sync(self, _: int) -> None:
        """Stop making edits durable until the next `sync`."""
        self.system.cluster.hold_sync()

    def sync(self, _: int) -> None:
        """Make all edits durable."""
        self.system.cluster.sync()

    def cut(self, number: int) -> None:
        """Cut the connections to the active NameNode; in one case of three, block its RPC port as well."""
        self.system.cluster.active.cut()
        self.system.cluster.active.is_reachable = number % 3 != 0

    def cut_under_a_call(self, number: int) -> None:
        """Cut the connections, or change the namespace, between a call and its reply."""
        active = self.system.cluster.active
        active.during_call = active.cut if number % 2 else partial(self.change, number // 2)

    def fall_silent(self, number: int) -> None:
        """Stop the replies of the NameNode's JMX page, of its log position, or of queries to it."""
        active = self.system.cluster.active
        if number % 3 == 0:
            active.answers_jmx = False
        elif number % 3 == 1:
            active.answers_journal = False
        else:
            self.system.queries.is_silent = True

    def lose_edits(self, number: int) -> None:
        """Change the namespace while the edits cannot be read, then purge those edits."""
        cluster = self.system.cluster
        cluster.active.cut()
        before = cluster.active.log.end
        for each in range(1 + number % 3):
            self.change(number // 3 + 5 * each)
            self.change_access(number // 5 + each)
        cluster.write_nothing()
        cluster.active.log.first_kept = cluster.active.log.end
        if cluster.active.log.end > before + 1 and self.system.cache.position >= 0:
            self.features.add("gap")

    def small_pages(self, number: int) -> None:
        """Limit the number of events in a page of edits."""
        for namenode in self.system.cluster.namenodes:
            namenode.max_events = 1 + number % 3

    def befall(self, number: int) -> None:
        """Cause one fault of the channel."""
        kind = self.system.channel.befall(number)
        if kind:
            self.features.add(kind)

    def break_cache(self, number: int) -> None:
        """Make the next call of one method of the cache fail."""
        methods = ("lookup", "conclude", "apply", "open_window", "set_filters")
        self.system.cache.faults[methods[number % len(methods)]] += 1
        self.features.add("fault of the cache")

    def end_troubles(self, _: int) -> None:
        """End all faults and delays."""
        system = self.system
        system.call_takes_s = 0.001
        system.queries.is_silent = False
        system.cluster.sync()
        for namenode in system.cluster.namenodes:
            namenode.is_reachable = namenode.answers_jmx = namenode.answers_journal = True
            namenode.answers_http = True
            namenode.max_events = 1000
            namenode.rpc_leads_to = None
        system.channel.heal()

    def stats(self) -> StreamStats:
        """Return the counters of the consumer."""
        return self.system.consumer.stats()


ACTS: Final[Mapping[str, tuple[int, Callable[[Simulation, int], None]]]] = {
    "read": (24, Simulation.read),
    "poll": (5, Simulation.poll),
    "herd": (6, Simulation.herd),
    "refresh": (3, Simulation.refresh),
    "wait": (4, Simulation.wait),
    "change": (14, Simulation.change),
    "change and poll": (6, Simulation.change_and_poll),
    "write": (12, Simulation.write),
    "change access": (4, Simulation.change_access),
    "write access": (3, Simulation.write_access),
    "write policy": (1, Simulation.write_policy),
    "create": (5, Simulation.create),
    "open": (4, Simulation.open),
    "flush": (2, Simulation.flush),
    "close": (4, Simulation.close),
    "restore": (4, Simulation.restore),
    "hang up": (2, lambda simulation, number: simulation.system.hang_up(number)),
    "be slow": (3, Simulation.be_slow),
    "crash": (1, Simulation.crash),
    "hold sync": (1, Simulation.hold_sync),
    "sync": (1, Simulation.sync),
    "cut": (1, Simulation.cut),
    "cut under a call": (1, Simulation.cut_under_a_call),
    "fall silent": (1, Simulation.fall_silent),
    "lose edits": (1, Simulation.lose_edits),
    "small pages": (1, Simulation.small_pages),
    "befall the channel": (3, Simulation.befall),
    "break the cache": (1, Simulation.break_cache),
    "end troubles": (4, Simulation.end_troubles),
}
"""By name: the weight of an act in the draw, and the act."""

PAUSES_S: Final = (0.0, 0.0, 0.0, 0.0005, 0.0005, 0.002, 0.01, 0.05, 0.3, 0.3, 1.0, 3.5)
"""The pauses between two acts, in seconds."""
