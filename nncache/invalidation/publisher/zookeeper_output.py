"""Publish through ZooKeeper.

The shell over `recovery`, which decides what is published, and `write_plan`, which decides what is written. Named after
the ZKInotifyEventOutputStream of HDFS-8940.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from nncache.coordination.errors import BadVersionError, NoNodeError, NotEmptyError
from nncache.coordination.session import KazooSession
from nncache.coordination.task_group import run_all
from nncache.coordination.zookeeper import (
    CheckOp,
    CreateOp,
    DeleteOp,
    SessionStats,
    SetDataOp,
    Znode,
    ZnodeOp,
    ZooKeeperSession,
)
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.channel.records import StaleChanges
from nncache.invalidation.channel.znodes import (
    ZnodePaths,
    encode_number,
    is_filter_name,
    nameservices,
    parse_txid,
)
from nncache.invalidation.errors import ChannelUnavailableError, WrongNamespaceError
from nncache.invalidation.publisher.access import MAX_ACL_BYTES, ZnodeAccess, rules_of
from nncache.invalidation.publisher.deletion import Commit, LeftZnodes, clear, delete_all, in_order
from nncache.invalidation.publisher.election import Election
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    InotifyEventOutputStream,
    OutputSetup,
    Publication,
    PublishedState,
)
from nncache.invalidation.publisher.recovery import VOID, recover
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.write_plan import Multi, PlannedStream, WritePlan, tampered
from nncache.invalidation.publisher.znode_acls import AclRepair, ProtectedSession
from nncache.invalidation.publisher.znode_snapshot import read_tree

LOOK_S: Final = 30.0
"""Seconds between two checks for znodes that another client has written."""

CONNECT_S: Final = 5.0
"""Seconds to wait for a connection when a run begins."""

_log = logging.getLogger(__name__)


class ZooKeeperInotifyEventOutputStream(InotifyEventOutputStream):
    """Writes records below the nameservice's znode. Its session with ZooKeeper outlasts the runs."""

    def __init__(
        self,
        setup: OutputSetup,
        session: ZooKeeperSession | None = None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._znodes = ZnodePaths(setup.zookeeper.zookeeper_root, setup.nameservice)
        self._root = setup.zookeeper.zookeeper_root
        self._max_records = setup.publisher.max_records_per_filter
        self._clock = setup.clock
        self._counts = OutputStats()
        self._access = ZnodeAccess(self._znodes, rules_of(setup.publisher, setup.zookeeper, setup.login))
        self._zookeeper: ZooKeeperSession = ProtectedSession(
            session or KazooSession(setup.zookeeper, setup.clock, log_name="publishing", login=setup.login),
            self._access.acl_of,
        )
        self._found: tuple[str, ...] = ()  # paths found by `open`, until their ACLs are checked
        self._acls = AclRepair(self._zookeeper, self._access.acl_of, self._counts)
        self._left = LeftZnodes(self._zookeeper, self._znodes)
        self._new_id = new_id  # of chains
        self._is_entered = False
        self._election: Election | None = None
        self._tree: WritePlan | None = None  # of this run; None if unknown, or while the filters change
        self._blocked: frozenset[str] = frozenset()  # names that the last change of filters could not add

    @property
    def waiting_for(self) -> str:
        """The current leader while this publisher stands by; "" otherwise."""
        return "" if self._election is None else self._election.waiting_for

    @property
    def blocked(self) -> frozenset[str]:
        """The names of filters whose paths hold znodes that this publisher may not delete."""
        return self._blocked

    async def open(self, identity: PublisherIdentity, block_pool: str) -> PublishedState:
        """Become the leader, and read the published state; see InotifyEventOutputStream."""
        self._tree = None
        if not self._is_entered:
            await self._zookeeper.__aenter__()
            self._is_entered = True
        await self._zookeeper.wait_connected(CONNECT_S)
        await self._check_namespace(block_pool)
        if self._election is None:
            self._election = Election(self._zookeeper, self._znodes, identity, self._counts)
        await self._election.lead()
        await self._repair_shared_acls()
        found = await read_tree(self._zookeeper, self._znodes)
        state, self._tree = recover(
            self._znodes, found, self._max_records, self._counts, self._access.size_of
        )
        self._admit(position.filter for position in state.filters.values())
        self._found = () if self._tree is None or self._access.is_open else self._tree.znodes()
        return state

    async def keep(self) -> None:
        """Raise as soon as another process may lead, or has written to this publisher's znodes."""
        await run_all(self._elected.keep, self._watch_for_tampering, self._repair_found_acls)

    async def begin(self, txid: int) -> None:
        """Discard everything published, and begin after this transaction.

        `.cache` is emptied first: a publisher that finds it empty, after a crash of this one, starts over as well.
        """
        if txid < 1:
            raise ChannelUnavailableError(f"the NameNode has written no transaction yet (it says {txid})")
        self._tree = None
        fence = await self._void()
        filters = await self._check_filters(fence)
        names = await self._zookeeper.children(self._znodes.namespace)
        definitions = await self._zookeeper.children(self._znodes.filters)
        records = await self._zookeeper.children(self._znodes.cache)
        ours = (
            *(self._znodes.stream(name) for name in names if is_filter_name(name)),
            *(self._znodes.definition(name) for name in definitions if is_filter_name(name)),
            *(f"{self._znodes.cache}/{name}" for name in in_order(records)),
        )
        left = await self._delete_all(ours, fence)
        generation = (parse_txid(filters.data) or 0) + 1
        cache = PlannedStream(self._znodes.cache, self._new_id(), txid - 1, fence.version)
        tree = WritePlan(
            self._znodes,
            self._max_records,
            self._counts,
            cache=cache,
            generation=generation,
            filters_version=filters.version + 1,
            acl_bytes=self._access.size_of,
        )
        tree.add_places(left)
        (first,) = tree.plan_publication(Publication(txid=txid, content=StaleChanges(()), filters={}))
        counted_up = SetDataOp(self._znodes.filters, encode_number(generation), filters.version)
        await self._commit((counted_up, *first))
        self._tree = tree

    async def publish(self, publication: Publication) -> int:
        """Publish; return the number of writes."""
        return await self._commit_all(self._planned.plan_publication(publication))

    async def change_filters(self, change: FilterChange) -> int:
        """Change the set of filters; return the number of writes.

        Znodes that cannot be deleted stay, and no filter is added in their place.
        """
        tree, before = self._planned, self._counts.writes
        self._tree = None  # half of a change is no basis for later writes or comparisons
        commit, places = self._fenced(tree.fence), tree.places_of(change)
        hidden = [path for path in places if not await clear(self._zookeeper, path, commit)]
        left = await self._delete_all(hidden, tree.fence)
        tree.forget_places(set(hidden).difference(left))
        self._blocked = frozenset(path.rpartition("/")[2] for path in left)
        possible = change.without(self._blocked)
        self._admit((*possible.added, *possible.updated, *possible.modified))
        if change.is_empty or not possible.is_empty:  # if all are blocked, there is nothing to read again
            await self._commit_all(tree.plan_filters(possible, left))
        if not self._access.is_open:
            others = (*possible.updated, *possible.modified)
            await self._acls.apply(path for each in others for path in tree.znodes_of(each.name))
        self._tree = tree
        return self._counts.writes - before

    async def close(self, *, give_up: bool) -> None:
        """End the run."""
        self._tree = None
        if give_up and self._election is not None:
            await self._election.resign()

    async def shut_down(self) -> None:
        """Close the session with ZooKeeper; its lock goes to a standby."""
        if self._is_entered:
            self._is_entered = False
            await self._zookeeper.__aexit__(None, None, None)

    def stats(self) -> OutputStats:
        """Return the figures over all runs."""
        return replace(self._counts)

    def session_stats(self) -> SessionStats:
        """Return the figures of the session."""
        return self._zookeeper.stats()

    async def _repair_shared_acls(self) -> None:
        """Set the ACLs of the znodes that all filters share, before anything below them is trusted."""
        if self._access.is_open:
            return
        znodes = self._znodes
        made = await self._zookeeper.acl(znodes.publisher)
        if made.version == 0:  # unchanged since this session created it
            self._access.learn(made.acl)
        elif not self._access.is_known:
            raise ChannelUnavailableError(f"another client has set the ACL of {znodes.publisher}")
        names = await self._zookeeper.children(znodes.namespace)
        shared = (f"{znodes.namespace}/{name}" for name in names if name.startswith("."))
        await self._acls.repair((self._root, znodes.namespace, *shared))

    async def _repair_found_acls(self) -> None:
        """Set the ACLs of all znodes found by `open`, once in a run and beside publishing: there may be many."""
        found, self._found = self._found, ()
        await self._acls.repair(found)

    def _admit(self, filters: Iterable[PublishedFilter]) -> None:
        for name, users in self._access.admit(filters).items():
            _log.warning(
                "filter %s: %d of its owner and subscribers cannot read it in ZooKeeper, such as %r: an ACL takes "
                "%d bytes, and of names only those of letters, digits and . _ $ -",
                name,
                len(users),
                users[0],
                MAX_ACL_BYTES,
            )

    async def _watch_for_tampering(self) -> NoReturn:
        """Check periodically that no other client has changed the znodes: readers must not wait for the next run."""
        while True:
            await asyncio.sleep(LOOK_S)
            tree = self._tree
            before = {} if tree is None else tree.versions()
            ours = frozenset[str]() if tree is None else tree.definition_names()
            found = await self._zookeeper.get_many(tuple(before))
            names = () if not before else await self._zookeeper.children(self._znodes.filters)
            if tree is None or tree is not self._tree:
                continue
            paths = tampered(before, found, tree.versions())
            if paths:
                raise ChannelUnavailableError(f"another client has written or deleted {', '.join(paths)}")
            ours |= tree.definition_names()
            planted = [name for name in names if is_filter_name(name) and name not in ours]
            if planted:
                raise ChannelUnavailableError(
                    f"another client has made {len(planted)} definitions in {self._znodes.filters}, such as "
                    f"{planted[0]}: no records are made for them, they are removed"
                )

    @property
    def _elected(self) -> Election:
        assert self._election is not None, "not opened"
        return self._election

    @property
    def _planned(self) -> WritePlan:
        if self._tree is None:
            raise ChannelUnavailableError("nothing is known of what is published")
        return self._tree

    async def _check_namespace(self, block_pool: str) -> None:
        """Check that the tree belongs to this namespace; create its top znode if it is missing."""
        path, data = self._znodes.namespace, block_pool.encode()
        try:
            znode = await self._zookeeper.get(path)
        except NoNodeError:
            await self._zookeeper.ensure(self._root)
            others = nameservices(await self._zookeeper.children(self._root))
            await self._zookeeper.commit([CreateOp(path, data)])
            if others:
                _log.warning(
                    "%s is new; published in %s before: %s. If one of these was meant, correct --nameservice and "
                    "delete the new one",
                    path,
                    self._root,
                    ", ".join(others),
                )
            return
        if not znode.data:  # created by a client that only needed a parent
            await self._zookeeper.commit([SetDataOp(path, data, znode.version)])
        elif znode.data != data:
            raise WrongNamespaceError(
                f"{path} in ZooKeeper belongs to the namespace {znode.data.decode(errors='replace')!r}, the active "
                f"NameNode's is {block_pool!r}: choose another nameservice or zookeeper_root or, if the namespace was "
                "formatted, delete that znode with all below it"
            )

    async def _void(self) -> CheckOp:
        """Empty `.cache`, so that no publisher continues from it; return the check that fences the next writes."""
        path = self._znodes.cache
        try:
            znode = await self._zookeeper.get(path)
        except NoNodeError:
            await self._commit([CreateOp(path, VOID)])
            return CheckOp(path, 0)
        await self._commit([SetDataOp(path, VOID, znode.version)])
        return CheckOp(path, znode.version + 1)

    async def _check_filters(self, fence: CheckOp) -> Znode:
        try:
            return await self._zookeeper.get(self._znodes.filters)
        except NoNodeError:
            await self._commit([fence, CreateOp(self._znodes.filters, encode_number(0))])
            return await self._zookeeper.get(self._znodes.filters)

    async def _delete_all(self, paths: Sequence[str], fence: CheckOp) -> tuple[str, ...]:
        """Delete these znodes with everything below them; return those that had to stay."""
        commit = self._fenced(fence)
        left = await delete_all(self._zookeeper, paths, commit)
        await self._left.leave(left, commit)
        return left

    def _fenced(self, fence: CheckOp) -> Commit:
        return lambda operations: self._commit((fence, *operations))

    async def _commit_all(self, multis: Iterable[Multi]) -> int:
        writes = 0
        for operations in multis:
            await self._commit_trimming(operations)
            writes += 1
        return writes

    async def _commit_trimming(self, operations: Multi) -> None:
        """Carry out a multi. Znodes that other clients put below a record that it deletes are deleted first.

        If ZooKeeper's ACLs forbid that, the record stays: no reader needs it any more.
        """
        tree, cleared = self._tree, set[str]()
        while True:
            try:
                await self._commit(operations)
            except NotEmptyError as exc:  # nothing was changed
                trimmed = DeleteOp(exc.path)
                if trimmed not in operations:
                    raise
                commit = self._fenced(_fence_of(operations, self._znodes.cache))
                if exc.path in cleared or not await clear(self._zookeeper, exc.path, commit):
                    operations = tuple(each for each in operations if each != trimmed)
                    self._left.leave_record(exc.path)
                cleared.add(exc.path)
                self._tree = tree
            else:
                return

    async def _commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction of the leader; in the epoch of another leader it changes nothing (E2)."""
        fence, began_at = self._elected.fence, self._clock()
        try:
            await self._zookeeper.commit((fence, *operations))
        except BaseException as exc:
            self._counts.writes_failed += 1
            self._tree = None  # the planned znodes may not exist
            if isinstance(exc, BadVersionError | NoNodeError) and exc.path == fence.path:
                self._counts.writes_fenced += 1
                raise ChannelUnavailableError("another publisher has been elected") from exc
            raise
        self._counts.writes += 1
        self._counts.write_s += self._clock() - began_at


def _fence_of(operations: Multi, cache: str) -> CheckOp:
    """Return the check of `.cache` by which this multi fails once another client has written."""
    return next(
        CheckOp(cache, each.version)
        for each in operations
        if isinstance(each, CheckOp | SetDataOp) and each.path == cache
    )
