"""The namespace on a store: each operation reads, decides, and commits one transaction.

The shell around `namespace/`. A refused transaction means that its input has changed: the operation reads and decides
again, and the answer may be another one.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from nncache.coordination.errors import BadVersionError, NodeExistsError, NoNodeError, NotEmptyError
from nncache.coordination.task_group import run_all
from nncache.coordination.zookeeper import CheckOp, CreateOp, SetDataOp, Znodes
from nncache.hadoop.feed_znodes import VERSION, encode_namespace, parse_namespace
from nncache.hadoop.namespace import Namespace
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import ROOT_ID, Inode, encode
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import (
    Chain,
    IdsNeededError,
    LeaseNeededError,
    NeededError,
    ReplicasNeededError,
    SnapshottableNeededError,
    TreeNeededError,
    View,
)
from nncache.namenode.node.feed import FIRST_SEGMENT, first_operations
from nncache.namenode.node.leading import FencedZnodes
from nncache.namenode.node.resolving import Resolver

_T = TypeVar("_T")

Decide: TypeAlias = Callable[[View, Transaction], _T | Refusal]
WallClock: TypeAlias = Callable[[], int]

IDS_AT_ONCE: Final = 1_000
IDS_OF_ONE_OPERATION: Final = 1_001
"""Maximum: a file below as many missing directories as a path has levels."""

MAX_ATTEMPTS: Final = 1_000
"""Number of attempts after which an operation fails."""

FIRST_BLOCK_ID: Final = 1_073_741_825
"""As in HDFS (SequentialBlockIdGenerator). Blocks and inodes take their ids from the same counter."""


class Ids:
    """Numbers that are never used twice, taken from the store in batches."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._next = 0
        self._end = 0

    async def prepare(self) -> None:
        """Ensure that there are enough ids for one operation."""
        while self._end - self._next < IDS_OF_ONE_OPERATION:
            znode = await self._znodes.get(layout.IDS)
            begin = int(znode.data)
            end = begin + IDS_AT_ONCE + IDS_OF_ONE_OPERATION
            try:
                await self._znodes.commit([SetDataOp(layout.IDS, str(end).encode(), znode.version)])
            except BadVersionError:  # another NameNode has taken these ids
                continue
            if begin != self._end:
                self._next = begin
            self._end = end

    def take(self) -> int:
        """Return the next id. Raises IdsNeededError: concurrent operations have taken the last one."""
        if self._next >= self._end:
            raise IdsNeededError
        self._next += 1
        return self._next - 1

    def take_block(self) -> int:
        """Return the next id, as a block id."""
        return FIRST_BLOCK_ID + self.take()


class FileSystem:
    """Carries out operations on the namespace in a store.

    Attributes:
        is_watched: whether a leader sees to the replicas of blocks.
    """

    def __init__(self, znodes: Znodes, now_ms: WallClock) -> None:
        self.is_watched = False
        self.znodes = znodes
        self.resolver = Resolver(znodes)
        self.ids = Ids(znodes)
        self.now_ms = now_ms

    def fenced(self, fence: Callable[[], CheckOp]) -> "FileSystem":
        """Return the same for one process alone, as long as this does not fail."""
        fenced = FileSystem(FencedZnodes(self.znodes, fence), self.now_ms)
        fenced.ids, fenced.is_watched = self.ids, self.is_watched
        return fenced

    async def format(self, owner: str, group: str) -> None:
        """Create an empty namespace, unless one exists."""
        root = Inode(
            id=ROOT_ID, parent=0, name="", is_directory=True, owner=owner, group=group, mode=0o755,
            segment=FIRST_SEGMENT,
        )  # fmt: skip
        version = Namespace(f"CID-{uuid.uuid4()}", f"BP-{uuid.uuid4().int % 10**9}-127.0.0.1-{self.now_ms()}")
        try:
            await self.znodes.commit(
                [
                    *(CreateOp(path, b"") for path in layout.ROOTS),
                    CreateOp(layout.IDS, str(ROOT_ID + 1).encode()),
                    CreateOp(layout.inode(ROOT_ID), encode(root)),
                    CreateOp(layout.directory(ROOT_ID), b"0"),
                    CreateOp(VERSION, encode_namespace(version)),
                    *first_operations(),
                ]
            )
        except NodeExistsError:
            return

    async def namespace(self) -> Namespace:
        """Return the identity of the namespace; each format creates a new one."""
        return parse_namespace((await self.znodes.get(VERSION)).data)

    async def run(self, paths: Sequence[str], decide: Decide[_T], needs: Sequence[NeededError] = ()) -> _T:
        """Carry out an operation on paths. The data that it probably `needs` in addition is read at the same time.

        Raises:
            Refusal: the NameNode's answer is an exception.
        """
        return await self._run(lambda: self.resolver.chains(paths), decide, needs)

    async def run_on(
        self, number: int, asked: str, decide: Decide[_T], needs: Sequence[NeededError] = ()
    ) -> _T:
        """Carry out an operation on an inode by its id, at its current path; `asked` is its path if it is gone."""

        async def read() -> tuple[Chain, ...]:
            return (await self.resolver.chain_of(number, asked),)

        return await self._run(read, decide, needs)

    async def _run(
        self,
        read: Callable[[], Awaitable[tuple[Chain, ...]]],
        decide: Decide[_T],
        needs: Sequence[NeededError],
    ) -> _T:
        await self.ids.prepare()
        for _ in range(MAX_ATTEMPTS):
            view = await self._view(read, needs)
            answer, transaction = await self._decided(view, decide)
            operations = transaction.operations()
            try:
                if operations:
                    await self.znodes.commit(operations)
            except (BadVersionError, NoNodeError, NodeExistsError, NotEmptyError):
                continue
            if isinstance(answer, Refusal):
                raise answer
            return answer
        raise Refusal(Java.RETRIABLE, "Others have changed the same paths again and again. Try again later.")

    async def _view(
        self, read: Callable[[], Awaitable[tuple[Chain, ...]]], needs: Sequence[NeededError]
    ) -> View:
        view = View(())

        async def read_chains() -> None:
            view.chains = await read()

        if needs:
            await run_all(read_chains, *(partial(self._read, needed, view) for needed in needs))
        else:
            await read_chains()
        return view

    async def _decided(self, view: View, decide: Decide[_T]) -> tuple[_T | Refusal, Transaction]:
        """Run a rule, and read the further data that it needs."""
        while True:
            transaction = Transaction(view, self.now_ms(), is_watched=self.is_watched)
            try:
                return decide(view, transaction), transaction
            except NeededError as needed:
                await self._read(needed, view)

    async def _read(self, needed: NeededError, view: View) -> None:
        match needed:
            case LeaseNeededError(holder):
                view.leases[holder] = await self.resolver.lease(holder)
            case TreeNeededError(node):
                view.trees[node.inode.id] = await self.resolver.tree(node)
            case ReplicasNeededError(blocks):
                view.replicas |= await self.resolver.replicas_of(blocks)
            case IdsNeededError():
                await self.ids.prepare()
            case SnapshottableNeededError():
                view.snapshottable = await self.resolver.snapshottable()
            case _:
                raise TypeError(f"no rule needs {needed!r}")
