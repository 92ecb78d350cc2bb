"""JournalNodes and the NameNodes that write to them, as far as a reader sees them, in logical time.

They behave like Hadoop 3.3, which does not report that a JournalNode lags (before HDFS-16659).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from nncache.hadoop.editlog.frames import Frame
from nncache.invalidation.errors import Discontinued
from nncache.invalidation.journal.quorum import (
    START_LOG_SEGMENT,
    JournalQuorum,
    NewTransactions,
    ShownTransaction,
)

MKDIR = 3
EPOCH_EVERY = 20.0

NewQuorum = Callable[[tuple[str, ...], int], JournalQuorum]


class WrongError(AssertionError):
    """The reader has drawn a false conclusion."""


def shown(
    txid: int, content: str = "", *, opcode: int = MKDIR, layout_version: int = -67
) -> ShownTransaction:
    """Return a transaction; different content means different bytes."""
    return ShownTransaction(layout_version, Frame(txid, opcode, content.encode(), 0))


@dataclass
class JournalNode:
    """A simulated JournalNode."""

    name: str
    is_up: bool = True
    promised: int = 1
    writer_epoch: int = 1
    disk: dict[int, ShownTransaction] = field(default_factory=dict)
    cache: dict[int, ShownTransaction] = field(default_factory=dict)
    is_in_sync: bool = True  # the writer sends it the next edits; otherwise only from the next segment on
    connection: int = 0  # counts restarts

    @property
    def last_txid(self) -> int:
        """The last transaction on its disk."""
        return max(self.disk, default=0)

    def write(self, each: ShownTransaction) -> None:
        """Store a transaction."""
        txid = each.frame.txid
        if self.cache and max(self.cache) + 1 != txid:
            self.cache = {}
        self.cache[txid] = self.disk[txid] = each

    def restart(self) -> None:
        """Restart with an empty cache."""
        self.is_up, self.cache, self.is_in_sync = True, {}, False
        self.connection += 1

    def wipe(self) -> None:
        """Restart with an empty disk: all promises and edits are lost."""
        self.restart()
        self.disk, self.promised, self.writer_epoch = {}, 0, 0

    def edits(self, since: int) -> list[ShownTransaction] | None:
        """Return the edits from a transaction on; None: CacheMissException."""
        if since in self.cache:
            return [self.cache[txid] for txid in range(since, max(self.cache) + 1)]
        return None if since <= self.last_txid else []


class JournalSimulation:
    """JournalNodes, the active NameNode, and one reader whose conclusions are checked."""

    def __init__(self, seed: int, new_quorum: NewQuorum = JournalQuorum, nodes: int = 3) -> None:
        self._chance = Random(seed)
        self._new_quorum = new_quorum
        self._now = 0.0
        self._nodes = {f"jn{number}": JournalNode(f"jn{number}") for number in range(nodes)}
        self._majority = nodes // 2 + 1
        self._epoch = 1
        self._written = 0  # by the active NameNode; 0 while none is active
        self._acknowledged: dict[int, tuple[float, ShownTransaction]] = {}
        self._asked: dict[
            str, tuple[float, int, list[ShownTransaction] | None]
        ] = {}  # under way: (sent at, connection, reply)
        self._over: dict[str, int] = {}  # the connection on which a JournalNode has reported its epoch
        self.taken: dict[int, ShownTransaction] = {}  # durable according to the reader
        self.runs = 0
        self._write(START_LOG_SEGMENT)
        self._begin()

    def go(self, steps: int) -> None:
        """Carry out random acts, check each conclusion, and finally compare the durable edits with the log."""
        acts = (
            (self._write, 30),
            (self._ask, 60),
            (self._answer, 60),
            (self._crash, 1),
            (self._come_back, 4),
            (self._wipe, 1),
            (self._fail_over, 2),
            (self._die_before_active, 1),
            (self._roll, 1),
        )
        for _ in range(steps):
            self._now += 1.0
            (act,) = self._chance.choices([act for act, _ in acts], [weight for _, weight in acts])
            act()
            self._check_fresh()
        for node in self._nodes.values():
            if not node.is_up:
                node.restart()
        assert any(self._fail_over() for _ in range(1000))
        log = next(node for node in self._nodes.values() if node.promised == self._epoch).disk
        for txid, each in self.taken.items():
            if log.get(txid) != each:
                raise WrongError(f"{txid} was taken as {each}, and is {log.get(txid)}")

    # -- acts

    def _write(self, opcode: int = MKDIR) -> None:
        """Write a transaction to some of the JournalNodes; without a majority the NameNode dies."""
        if not self._written and opcode != START_LOG_SEGMENT:
            return
        txid = self._written + 1 if self._written else max(n.last_txid for n in self._nodes.values()) + 1
        each = shown(txid, f"epoch {self._epoch}", opcode=opcode)
        reached = 0
        is_cut = self._acknowledged and self._chance.random() < 0.03
        for node in self._nodes.values():
            if opcode == START_LOG_SEGMENT:
                node.is_in_sync = node.is_in_sync or node.last_txid == txid - 1
            if not node.is_up or node.promised != self._epoch or not node.is_in_sync:
                continue
            if is_cut and self._chance.random() < 0.6:
                node.is_in_sync = False
                continue
            node.write(each)
            node.writer_epoch = self._epoch
            reached += 1
        if reached >= self._majority:
            self._written = txid
            self._acknowledged[txid] = self._now, each
        else:
            self._written = 0  # QuorumException: the NameNode exits

    def _roll(self) -> None:
        if self._written:
            self._write(START_LOG_SEGMENT)

    def _crash(self) -> None:
        self._chance.choice(list(self._nodes.values())).is_up = False

    def _come_back(self) -> None:
        node = self._chance.choice(list(self._nodes.values()))
        if not node.is_up:
            node.restart()

    def _wipe(self) -> None:
        node, *others = self._chance.sample(list(self._nodes.values()), len(self._nodes))
        if not node.is_up and any(self._acknowledged.keys() <= other.disk.keys() for other in others):
            node.wipe()

    def _fail_over(self) -> bool:
        """Make another NameNode active, with some majority of the JournalNodes; return whether that succeeded.

        It fails if too many disks were wiped: HDFS itself would lose acknowledged edits.
        """
        up = [node for node in self._nodes.values() if node.is_up]
        if len(up) < self._majority:
            return False
        reached = self._chance.sample(up, self._chance.randint(self._majority, len(up)))
        best = max(reached, key=lambda node: (node.writer_epoch, node.last_txid))
        if any(txid not in best.disk for txid in self._acknowledged):
            return False
        self._epoch = 1 + max(self._epoch, *(node.promised for node in self._nodes.values()))
        for node in reached:
            node.promised, node.writer_epoch, node.is_in_sync = self._epoch, best.writer_epoch, True
            if node.disk != best.disk:
                node.disk, node.cache = dict(best.disk), {}
        self._written = best.last_txid
        self._write(START_LOG_SEGMENT)
        return True

    def _die_before_active(self) -> None:
        """Let a new NameNode die after a minority has promised its epoch; the active one writes to the others."""
        number = self._chance.randint(1, self._majority - 1)
        epoch = 1 + max(self._epoch, *(node.promised for node in self._nodes.values()))
        for node in self._chance.sample(list(self._nodes.values()), number):
            if node.is_up:
                node.promised = epoch

    # -- the reader

    def _begin(self) -> None:
        self.runs += 1
        end = self._written or max(self._acknowledged)
        self._known = end  # the NameNode's answers contain everything up to here
        self._quorum = self._new_quorum(tuple(self._nodes), end)
        self._seen: set[ShownTransaction] = set()
        self._asked.clear()
        self._over.clear()

    def _ask(self) -> None:
        name, node = self._chance.choice(list(self._nodes.items()))
        if name in self._asked:
            return
        if not node.is_up:
            self._over.pop(name, None)
            self._quorum.failed(name)
            return
        if self._over.get(name) != node.connection or self._quorum.needs_epoch(name, self._now, EPOCH_EVERY):
            if self._over.get(name) != node.connection:
                self._quorum.failed(name)
            self._over[name] = node.connection
            if self._heed(self._quorum.promised(name, node.promised, self._now)):
                return
        self._asked[name] = self._now, node.connection, node.edits(self._quorum.next_txid)

    def _answer(self) -> None:
        if not self._asked:
            return
        name = self._chance.choice(list(self._asked))
        asked_at, connection, edits = self._asked.pop(name)
        node = self._nodes[name]
        if not node.is_up or connection != node.connection:
            self._quorum.failed(name)
            return
        if edits is None:
            self._heed(self._quorum.missed(name))
            return
        most = self._chance.choice((2, 5, 1000))
        found = self._quorum.answered(
            name, edits[:most], asked_at=asked_at, now=self._now, is_whole=len(edits) <= most
        )
        self._take(found)

    def _take(self, found: NewTransactions) -> None:
        self._seen.update(found.seen)
        for each in found.durable:
            self.taken[each.frame.txid] = each

    def _heed(self, discontinued: Discontinued | None) -> bool:
        if discontinued is None:
            return False
        self._begin()
        return True

    def _check_fresh(self) -> None:
        fresh, durable = self._quorum.fresh_as_of, self._quorum.durable_as_of()
        for txid, (at, each) in self._acknowledged.items():
            if txid <= self._known:
                continue
            if fresh is not None and at < fresh and each not in self._seen:
                raise WrongError(f"fresh as of {fresh}, but {txid} of {at} was not seen")
            if durable is not None and at < durable and self.taken.get(txid) != each:
                raise WrongError(f"durable as of {durable}, but {txid} of {at} was not taken")
