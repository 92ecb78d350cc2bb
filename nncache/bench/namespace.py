"""The files of a workload at the NameNode: create them, change them, read their states.

All calls go directly to the NameNode, not through a proxy. Changes are made as its superuser, states are read as a
caller that polls the path.
"""

from collections.abc import Iterable
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Final, NamedTuple, Self, assert_never
from urllib.parse import quote

import aiohttp

from nncache.bench.polling.replies import digest_of, file_id_of
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.shared.driver import AT_ONCE
from nncache.bench.shared.plan import PlannedChange, WorkloadPlan
from nncache.bench.shared.workload import ChangeKind
from nncache.coordination.task_group import each_bounded
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.namenodes.webhdfs import WebHdfs

_FIRST_MTIME_MS: Final = 1_700_000_000_000


class PathState(NamedTuple):
    """The NameNode's reply about a path, with the columns of `bench/shared/tables.py`."""

    status: int
    digest: int
    file_id: int


def state_of(status: int, body: bytes) -> PathState:
    """Return the state in a reply, computed as the pollers do."""
    return PathState(status, digest_of(status, body), file_id_of(body) if status == HTTPStatus.OK else 0)


class BenchNamespace:
    """The paths of one plan at one NameNode. Use it as an async context manager."""

    def __init__(self, plan: WorkloadPlan, namenode: NameNodeAt) -> None:
        self.plan = plan
        self._namenode = namenode.http
        self._hdfs = WebHdfs(f"http://{namenode.http}", namenode.superuser)
        self._session: aiohttp.ClientSession
        self._close = AsyncExitStack()
        self._aside = f"{plan.root}-aside"  # matched by no filter, polled by no client
        self._spares = 0  # spare files already taken from there
        self._moved = 0
        self.asked = 0  # own GETFILESTATUS calls (counter)

    async def __aenter__(self) -> Self:
        await self._close.enter_async_context(self._hdfs)
        self._session = await self._close.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE))
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close.aclose()

    # ---- lay out -----------------------------------------------------------------------------------------------------

    async def lay_out(self, changes: Iterable[PlannedChange]) -> None:
        """Create the paths that exist at the start, and the spare files that the changes need."""
        plan, workload = self.plan, self.plan.workload
        existing = plan.existing()
        needed = [change.kind for change in changes]
        spares = needed.count(ChangeKind.RENAME)
        spares += workload.paths_per_directory * needed.count(ChangeKind.COMMIT)
        comes_and_goes = {ChangeKind.COMMIT, ChangeKind.RETRACT}.intersection(workload.kinds)
        there = existing if comes_and_goes else range(workload.paths)
        directories = {plan.directory(path_id) for path_id in there}
        parents = {directory.rpartition("/")[0] for directory in directories}
        files = [plan.path(path_id) for path_id in sorted(existing)]
        files += [self._spare(number) for number in range(spares)]
        await self._hdfs.mkdirs(self._aside)
        await each_bounded(sorted(parents), self._hdfs.mkdirs, at_once=AT_ONCE)
        await each_bounded(sorted(directories), self._hdfs.mkdirs, at_once=AT_ONCE)
        await each_bounded(files, self._hdfs.create, at_once=AT_ONCE)

    def _spare(self, number: int) -> str:
        return f"{self._aside}/spare-{number}"

    def _take_spare(self) -> str:
        self._spares += 1
        return self._spare(self._spares - 1)

    # ---- ask ---------------------------------------------------------------------------------------------------------

    async def state(self, path_id: int) -> PathState:
        """Return the current state of a path at the NameNode."""
        self.asked += 1
        path, caller = self.plan.path(path_id), self.plan.caller_of(path_id)
        url = f"http://{self._namenode}{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={caller}"
        async with self._session.get(url) as reply:
            return state_of(reply.status, await reply.read())

    async def states(self) -> list[PathState]:
        """Return the current states of all paths at the NameNode, by path id."""
        found: dict[int, PathState] = {}

        async def note(path_id: int) -> None:
            found[path_id] = await self.state(path_id)

        await each_bounded(range(self.plan.workload.paths), note, at_once=AT_ONCE)
        return [found[path_id] for path_id in range(self.plan.workload.paths)]

    # ---- change ------------------------------------------------------------------------------------------------------

    async def prepare(self, change: PlannedChange) -> None:
        """Prepare a change outside its measured time: fill the directory that a job commits."""
        if change.kind is ChangeKind.COMMIT:
            temporary = self._temporary(change)
            await self._hdfs.mkdirs(temporary)
            for path_id in self.plan.in_directory(change.path_id):
                await self._hdfs.rename_to(self._take_spare(), f"{temporary}/{self.plan.name(path_id)}")

    async def carry_out(self, change: PlannedChange) -> None:
        """Make a change, and return after its acknowledgement.

        Raises:
            hadoop.errors.HadoopError: the NameNode refused the change, or did not answer.
        """
        plan, hdfs = self.plan, self._hdfs
        path, directory = plan.path(change.path_id), plan.directory(change.path_id)
        match change.kind:
            case ChangeKind.CREATE:
                await hdfs.create(path, b"")
            case ChangeKind.RENAME:
                await hdfs.rename_to(self._take_spare(), path)
            case ChangeKind.COMMIT:
                await hdfs.rename_to(self._temporary(change), directory)
            case ChangeKind.DELETE:
                await hdfs.delete(path)
            case ChangeKind.RETRACT:
                self._moved += 1
                await hdfs.rename_to(directory, f"{self._aside}/old-{self._moved}")
            case ChangeKind.TOUCH:
                self._moved += 1
                await hdfs.set_times(path, modification_ms=_FIRST_MTIME_MS + self._moved * 1000)
            case ChangeKind.FORBID:
                await hdfs.set_permission(directory, "700")
            case ChangeKind.ALLOW:
                await hdfs.set_permission(directory, "755")
            case _:
                assert_never(change.kind)

    def _temporary(self, change: PlannedChange) -> str:
        return f"{self.plan.directory(change.path_id).rpartition('/')[0]}/_temporary"
