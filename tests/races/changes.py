"""The changes that a race makes at the NameNode, each on its own paths."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX
from tests.http_client import Reply
from tests.races.client import Client

GLOBS: Final = tuple("/races" + "/*" * depth for depth in range(2, 7))
"""Filters that match all paths of all runs, but not the directory above the lanes."""

CONTENT: Final = b"0123456789"
LONG_BODY_BYTES: Final = 8_000_000


class Refused(Exception):  # noqa: N818 - an answer, not an error: a write that met a fault may get one
    """The write was not carried out, or its outcome is unknown."""


class Before(StrEnum):
    """The state of the path when a race begins."""

    MISSING = "missing"
    PARENT_MISSING = "parent missing"
    DIRECTORY = "directory"
    FILE = "file"
    ELSEWHERE = "elsewhere"  # the path's parent still has another name
    LOCKED = "locked"  # only the superuser may traverse it


@dataclass(slots=True)
class Plot:
    """The paths of one race.

    Attributes:
        top: its own directory.
        file: the path of its file, if it has one; the file is reused.
    """

    top: str
    name: str
    file: str | None = None

    @property
    def parent(self) -> str:
        """The parent directory of the path that is read."""
        return f"{self.top}/d"

    @property
    def aside(self) -> str:
        """Another name of that directory."""
        return f"{self.top}/e"

    @property
    def path(self) -> str:
        """The path that is read."""
        return f"{self.parent}/{self.name}"


class Hdfs:
    """Calls as the superuser or as another user, through any client."""

    def __init__(self, superuser: str) -> None:
        self.superuser = superuser

    def target(self, path: str, op: str, **parameters: object) -> str:
        """Return the target of a call as the superuser."""
        query = "".join(f"&{name}={quote(str(value), safe='/,')}" for name, value in parameters.items())
        return f"{PREFIX}{quote(path)}?op={op}&user.name={self.superuser}{query}"

    def status(self, path: str, user: str) -> str:
        """Return the target of a status request, as a poller sends it."""
        return f"{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={user}"

    async def change(self, via: Client, op: str, path: str, **parameters: object) -> None:
        """Make a change of one step.

        Raises:
            Refused: the reply reports no success.
        """
        method = "DELETE" if op == "DELETE" else "PUT"
        reply = await via.ask(method, self.target(path, op, **parameters))
        if reply.status != 200 or b'"boolean":false' in reply.body:
            raise Refused(f"{op} {path}: {reply.status} {reply.body[:200]!r}")

    async def begin(self, via: Client, op: str, path: str) -> str:
        """Send the first of two steps; return the URL of the second."""
        method = "POST" if op == "APPEND" else "PUT"
        reply = await via.ask(method, self.target(path, op, noredirect="true"))
        if reply.status != 200:
            raise Refused(f"{op} {path}: {reply.status} {reply.body[:200]!r}")
        return str(json.loads(reply.body)["Location"])

    async def write(self, via: Client, op: str, path: str) -> None:
        """Create or append to a file, in both steps."""
        await self.end(op, await self.begin(via, op, path))

    async def end(self, op: str, location: str) -> Reply:
        """Send the second step to the DataNode."""
        address, _, target = location.removeprefix("http://").partition("/")
        with Client(address) as datanode:
            method = "POST" if op == "APPEND" else "PUT"
            reply = await datanode.ask(method, "/" + target, body=CONTENT, headers="Connection: close\r\n")
        if reply.status >= 300:
            raise Refused(f"{op}, second step: {reply.status} {reply.body[:200]!r}")
        return reply


Act = Callable[[Hdfs, Plot, Client], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change."""

    name: str
    before: Before
    act: Act
    is_two_step: bool = False


def _on_path(op: str, **parameters: object) -> Act:
    return lambda hdfs, plot, via: hdfs.change(via, op, plot.path, **parameters)


def _on_top(op: str, **parameters: object) -> Act:
    return lambda hdfs, plot, via: hdfs.change(via, op, plot.top, **parameters)


async def _create(hdfs: Hdfs, plot: Plot, via: Client) -> None:
    await hdfs.write(via, "CREATE", plot.path)
    plot.file = plot.path


async def _append(hdfs: Hdfs, plot: Plot, via: Client) -> None:
    await hdfs.write(via, "APPEND", plot.path)


async def _put_in(hdfs: Hdfs, plot: Plot, via: Client) -> None:
    assert plot.file is not None
    await hdfs.change(via, "RENAME", plot.file, destination=plot.path)
    plot.file = plot.path


async def _take_out(hdfs: Hdfs, plot: Plot, via: Client) -> None:
    await hdfs.change(via, "RENAME", plot.path, destination=f"{plot.top}/out")
    plot.file = f"{plot.top}/out"


async def _move_parent_away(hdfs: Hdfs, plot: Plot, via: Client) -> None:
    await hdfs.change(via, "RENAME", plot.parent, destination=plot.aside)
    if plot.file is not None:
        plot.file = f"{plot.aside}/{plot.name}"


async def _create_with_body(
    hdfs: Hdfs, plot: Plot, via: Client, *, is_chunked: bool = False, is_withheld: bool = False
) -> None:
    """Send an MKDIRS with a body, which no NameNode needs; it is sent anyway, or announced with Expect."""
    try:
        reply = await via.ask(
            "PUT",
            hdfs.target(plot.path, "MKDIRS"),
            body=bytes(LONG_BODY_BYTES),
            headers="Expect: 100-continue\r\n" if is_withheld else "",
            is_chunked=is_chunked,
            is_withheld=is_withheld,
        )
    finally:
        via.hang_up()  # a server that replies before it has read the body closes the connection, now or soon
    if reply.status != 200:
        raise Refused(f"MKDIRS {plot.path}: {reply.status} {reply.body[:200]!r}")


CHANGES: Final = (
    Change("create", Before.MISSING, _on_path("MKDIRS")),
    Change("create with parent", Before.PARENT_MISSING, _on_path("MKDIRS")),
    Change("create in two steps", Before.MISSING, _create, is_two_step=True),
    Change("create in two steps with parent", Before.PARENT_MISSING, _create, is_two_step=True),
    Change("rename to it", Before.MISSING, _put_in),
    Change("rename it", Before.FILE, _take_out),
    Change("delete", Before.DIRECTORY, _on_path("DELETE")),
    Change("rename its parent", Before.DIRECTORY, _move_parent_away),
    Change("rename its parent, a file", Before.FILE, _move_parent_away),
    Change(
        "rename to its parent",
        Before.ELSEWHERE,
        lambda hdfs, plot, via: hdfs.change(via, "RENAME", plot.aside, destination=plot.parent),
    ),
    Change("forbid an ancestor", Before.DIRECTORY, _on_top("SETPERMISSION", permission="700")),
    Change("forbid an ancestor, a file", Before.FILE, _on_top("SETPERMISSION", permission="700")),
    Change("allow an ancestor", Before.LOCKED, _on_top("SETPERMISSION", permission="755")),
    Change("chmod", Before.FILE, _on_path("SETPERMISSION", permission="640")),
    Change("touch", Before.DIRECTORY, _on_path("SETTIMES", modificationtime=1_000_000_000_000)),
    Change("append", Before.FILE, _append, is_two_step=True),
)
"""Changes that succeed if nothing interferes."""

BODIES: Final = (
    Change("create, with a body", Before.MISSING, _create_with_body),
    Change("create, with a chunked body", Before.MISSING, partial(_create_with_body, is_chunked=True)),
    Change(
        "create, with a body that is not asked for",
        Before.MISSING,
        partial(_create_with_body, is_withheld=True),
    ),
)
"""Changes after which the NameNode may close the connection before its reply is read."""

WITH_BODIES: Final = (*CHANGES, *BODIES * 5)


class Ground:
    """Prepares plots below a directory of its own, directly at the NameNode."""

    def __init__(self, hdfs: Hdfs, namenode: Client, root: str) -> None:
        self._hdfs = hdfs
        self._namenode = namenode
        self.root = root
        self._plots = 0
        self._spare: str | None = None  # a file that no race reads

    async def prepare(self, change: Change) -> Plot:
        """Create a plot in the state that the change needs."""
        self._plots += 1
        plot = Plot(f"{self.root}/{self._plots}", f"f{self._plots}")
        hdfs, namenode = self._hdfs, self._namenode
        match change.before:
            case Before.MISSING:
                await hdfs.change(namenode, "MKDIRS", plot.parent)
            case Before.PARENT_MISSING:
                await hdfs.change(namenode, "MKDIRS", plot.top)
            case Before.DIRECTORY | Before.LOCKED:
                await hdfs.change(namenode, "MKDIRS", plot.path)
            case Before.FILE:
                await hdfs.change(namenode, "MKDIRS", plot.parent)
                plot.file = await self._file()
                await _put_in(hdfs, plot, namenode)
                await hdfs.change(namenode, "SETPERMISSION", plot.path, permission="644")
            case Before.ELSEWHERE:
                await hdfs.change(namenode, "MKDIRS", f"{plot.aside}/{plot.name}")
        if change.before is Before.LOCKED:
            await hdfs.change(namenode, "SETPERMISSION", plot.top, permission="700")
        if change.act is _put_in:
            plot.file = await self._file()
        return plot

    async def _file(self) -> str:
        spare, self._spare = self._spare, None
        if spare is None:
            spare = f"{self.root}-files/{self._plots}"
            await self._hdfs.write(self._namenode, "CREATE", spare)
        return spare

    async def clear(self, plot: Plot) -> None:
        """Keep the plot's file for the next race, if it can be renamed; leave the rest."""
        if plot.file is None or self._spare is not None:
            return
        aside = f"{self.root}-files/{self._plots}-again"
        try:
            await self._hdfs.change(self._namenode, "RENAME", plot.file, destination=aside)
        except Refused:
            return
        self._spare = aside
