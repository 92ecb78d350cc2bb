"""One operation of a differential run, as a value that can be printed and drawn again from its seed."""

import http.client
import json
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from nncache.testbed.asker import Asker, RawReply
from tests.real.datanode import begin, has_replied, led_to
from tests.real.proxied_cluster import USERS, CallTarget, ProxiedCluster

METHODS: Final = {
    "DELETE": "DELETE",
    "DELETESNAPSHOT": "DELETE",
    "TRUNCATE": "POST",
    "CONCAT": "POST",
    "UNSETSTORAGEPOLICY": "POST",
    "UNSETECPOLICY": "POST",
    "OPEN": "GET",
}
_TWO_STEP: Final = {"CREATE", "APPEND"}

REMADE: Final = "MKDIRS below what was just deleted"
RACED: Final = "CREATE with another writer in between"
ALIASED: Final = "APPEND to an alias"
LATE: Final = "CREATE with a late second step"
HELD: Final = "CREATE held open"
FLUSHED: Final = "CREATE over RPC, flushed and held open"
"""Kinds that take more than one WebHDFS call."""

_OPENS_S: Final = 10.0
"""After this time without a file, read the DataNode's reply for the reason."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, a two-step write, or one of the stories below.

    Attributes:
        paths: the paths that it affects; the change of the first one is timed.
        user: the caller; None: the superuser.
    """

    kind: str
    where: CallTarget
    user: str | None
    paths: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    data: bytes = field(default=b"", repr=False)

    def carry_out(self, proxied_cluster: ProxiedCluster) -> RawReply:
        """Carry out the operation; the reply's `ended_at` is the time of its acknowledgement."""
        if self.kind in _TWO_STEP:
            return self._write(proxied_cluster, self.kind)
        if self.kind == REMADE:
            proxied_cluster.call(CallTarget.NAMENODE, "DELETE", "DELETE", self.paths[1], recursive="true")
            return proxied_cluster.call(CallTarget.PROXY, "PUT", "MKDIRS", self.paths[0], permission="777")
        if self.kind == RACED:
            return self._race(proxied_cluster)
        if self.kind == ALIASED:
            return self._append_by_alias(proxied_cluster)
        op = self.kind.split(" ")[0]  # the rest names the form of the operation
        return proxied_cluster.call(
            self.where, METHODS.get(op, "PUT"), op, self.paths[0], self.user, **dict(self.parameters)
        )

    def _write(self, proxied_cluster: ProxiedCluster, op: str) -> RawReply:
        path, parameters = self.paths[0], dict(self.parameters)
        return proxied_cluster.write(
            self.where,
            path,
            self.data,
            self.user,
            op=op,
            parameters=parameters,
            is_redirected=not path.isascii(),
        )

    def _race(self, proxied_cluster: ProxiedCluster) -> RawReply:
        """Have another client write the path behind the proxy's back, between the two steps."""

        def between() -> None:
            proxied_cluster.write(
                CallTarget.NAMENODE, self.paths[0], b"other", parameters={"overwrite": "true"}
            )

        return proxied_cluster.write(
            CallTarget.PROXY,
            self.paths[0],
            self.data,
            self.user,
            between=between,
            parameters=dict(self.parameters),
        )

    def _append_by_alias(self, proxied_cluster: ProxiedCluster) -> RawReply:
        alias = f"/.reserved/.inodes/{file_id(proxied_cluster, self.paths[0]) or 0}"
        return proxied_cluster.write(CallTarget.PROXY, alias, self.data, self.user, op="APPEND")

    def begin(self, proxied_cluster: ProxiedCluster) -> "Unfinished | RawReply":
        """Make the first step of a two-step write; for HELD, also the part of the second step that opens the file.

        Returns the reply instead if it is a refusal, or if the DataNode replies without waiting for content.
        """
        path, parameters = self.paths[0], dict(self.parameters)
        first = proxied_cluster.call(
            self.where, "PUT", "CREATE", path, self.user, noredirect="true", **parameters
        )
        if first.status != http.client.OK:
            return first
        location = led_to(first)
        if self.kind == LATE:
            address, _, target = location.removeprefix("http://").partition("/")
            return Unfinished(self, Asker(address), "/" + target, first)
        return self._open(proxied_cluster, location)

    def _open(self, proxied_cluster: ProxiedCluster, location: str) -> "Unfinished | RawReply":
        """Send the DataNode all but the last byte, and wait for the file, which exists only after some content."""
        began_at = time.monotonic()
        replaced = file_id(proxied_cluster, self.paths[0])
        connection, waits = begin("PUT", location, len(self.data))
        if not waits:
            return _end(connection, began_at)
        with suppress(BrokenPipeError, ConnectionResetError):  # it takes no content, and replies why
            connection.send(self.data[:-1])
        deadline = time.monotonic() + _OPENS_S
        while file_id(proxied_cluster, self.paths[0]) == replaced and not has_replied(connection):
            if time.monotonic() > deadline:
                return _end(connection, began_at)
        opened = RawReply(http.client.OK, (), b"", began_at, time.monotonic())
        return Unfinished(self, connection, location, opened)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A two-step write whose second step is still to come (LATE), or in progress (HELD)."""

    operation: Operation
    datanode: Asker | http.client.HTTPConnection
    target: str
    begun: RawReply  # its `ended_at` is when the part done so far was acknowledged

    def finish(self) -> RawReply:
        """Make the second step, or the rest of it."""
        began_at = time.monotonic()
        if isinstance(self.datanode, Asker):
            with self.datanode:
                return self.datanode.ask("PUT", self.target, body=self.operation.data)
        with suppress(BrokenPipeError, ConnectionResetError):  # for example, the file has been deleted
            self.datanode.send(self.operation.data[-1:])
        return _end(self.datanode, began_at)

    def close(self) -> None:
        """Abandon the write, if it is not finished."""
        self.datanode.close()


def _end(connection: http.client.HTTPConnection, began_at: float) -> RawReply:
    """Read the DataNode's reply; if it closes the connection instead, return a reply of 502."""
    try:
        response = connection.getresponse()
        status, headers, body = response.status, tuple(response.getheaders()), response.read()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        status, headers, body = int(http.client.BAD_GATEWAY), (), b""
    finally:
        connection.close()
    return RawReply(status, headers, body, began_at, time.monotonic())


def file_id(proxied_cluster: ProxiedCluster, path: str) -> int | None:
    """Return the NameNode's id of the file or directory at a path; None: the path does not exist."""
    status = proxied_cluster.call(CallTarget.NAMENODE, "GET", "GETFILESTATUS", path)
    return int(json.loads(status.body)["FileStatus"]["fileId"]) if status.status == http.client.OK else None


_DIRECTORIES: Final = ("a", "a/x", "b", "b/x", "s", "s/x", "e", "e/x")
_SNAPSHOTTED: Final = ("b/x", "s/x")  # neither is below the other, which HDFS would refuse
_SNAPSHOTS: Final = ("n1", "n2")
_FILES: Final = ("f", "g")
_CODED: Final = ("e", "e/x")
"""Directories that may have erasure coding policies, one below the other; all their files are empty."""
_CODINGS: Final = ("RS-6-3-1024k", "XOR-2-1-1024k")  # the first is enabled from the start
_FORMS: Final = ("a/e\u0301", "a/\u00e9", "s/e\u0301", "s/\u00e9")
"""Files with one name in two normalization forms: a redirect for one leads to the other."""
_OPENED_EVERY: Final = 3
_EXISTS: Final = 0.6  # the least probability that a path is drawn from those that exist
_OVERWRITE: Final = (("overwrite", "true"), ("permission", "666"))
_MODES: Final = ("700", "711", "755", "770", "777", "070", "000")
_ACLS: Final = (
    "user:bob:r-x",
    "user:bob:---",
    "user:carol:--x",
    "group:users:rwx",
    "other::---",
    "default:user:carol:r-x",
)
_OWNERS: Final = (*(("owner", user) for user in USERS), ("group", "users"), ("group", "carol"))
_WHOLE_ACLS: Final = (
    "user::rwx,group::r-x,other::r-x",
    "user::rwx,group::---,other::--x,user:bob:r-x",
    "user::rwx,user:carol:---,group::rwx,other::rwx",
    "user::rwx,group::rwx,other::rwx,default:user:bob:---",
)


class Generator:
    """A seeded source of operations below one directory.

    A seed draws the same operations while the NameNode answers the same.
    """

    def __init__(self, seed: int, root: str, *, without: Collection[str] = ()) -> None:
        """Draw no kind of `without`."""
        self._random = random.Random(seed)
        self._root = root
        self._kinds = {kind: weight for kind, (weight, _) in _KINDS.items() if kind not in without}
        self._made = 0
        self._there: set[str] = set()  # paths known to exist
        self.directories = tuple(f"{root}/{name}" for name in _DIRECTORIES)
        plain = (f"{place}/{name}" for place in self.directories for name in _FILES)
        self.files = *plain, *(f"{root}/{name}" for name in _FORMS)
        self.paths = (*self.directories, *self.files)
        self.snapshotted = tuple(f"{root}/{name}" for name in _SNAPSHOTTED)
        self.coded = tuple(f"{root}/{name}" for name in _CODED)

    def next(self) -> Operation:
        """Draw the next operation."""
        self._made += 1
        if self._made % _OPENED_EVERY == 0:
            return self._open_up()
        kind = self._random.choices(list(self._kinds), list(self._kinds.values()))[0]
        return _KINDS[kind][1](self, kind)

    def _open_up(self) -> Operation:
        """Give everyone access to a part of the tree again: random modes and owners would close all of it for good."""
        number = self._made // _OPENED_EVERY
        place = f"{self._root}/{_DIRECTORIES[number % len(_DIRECTORIES)]}"
        kind, parameters = (
            ("MKDIRS", (("permission", "777"),)),
            ("REMOVEACL", ()),
            ("SETPERMISSION", (("permission", "777"),)),
        )[number % 3]  # 3 and the number of directories have no common divisor
        return Operation(kind, self.where(), None, (place,), parameters)

    def learn(self, statuses: Mapping[str, int]) -> None:
        """Take the NameNode's statuses of some paths: existing paths are drawn more often."""
        for path, status in statuses.items():
            if status == http.client.OK:
                self._there.add(path)
            elif status == http.client.NOT_FOUND:
                self._there.discard(path)

    def _of(self, paths: Sequence[str]) -> str:
        there = [path for path in paths if path in self._there]
        return self._random.choice(there if there and self._random.random() < _EXISTS else paths)

    def some_paths(self, number: int) -> list[str]:
        """Draw paths to read in addition to those of the operation."""
        return self._random.sample(self.paths, number)

    def below(self, path: str) -> list[str]:
        """Return the paths of the namespace below a directory."""
        return [each for each in self.paths if each.startswith(path + "/")]

    def a_snapshot(self) -> str:
        """Draw a path in a snapshot, which may or may not exist."""
        place = f"{self.choice(*self.snapshotted)}/.snapshot"
        return self.choice(place, *(f"{place}/{name}" for name in _SNAPSHOTS), f"{place}/{_SNAPSHOTS[0]}/f")

    # -- parts of operations

    def where(self) -> CallTarget:
        """Draw with equal chance: through the proxy, or behind its back."""
        return self._random.choice(tuple(CallTarget))

    def user(self, path: str) -> str | None:
        """Draw a user: mostly the owner of that part of the tree, sometimes another or the superuser (None)."""
        area = path.removeprefix(self._root + "/").split("/")[0]
        owner = {"a": "alice", "b": "bob"}.get(area, "carol")
        return self._random.choice((*(owner,) * 5, *USERS, None))

    def file(self) -> str:
        """Draw a file's path, which may or may not exist."""
        return self._of(self.files)

    def directory(self) -> str:
        """Draw a directory's path, which may or may not exist."""
        return self._of(self.directories)

    def any(self) -> str:
        """Draw any path of the namespace."""
        return self._of(self.paths)

    def choice(self, *values: str) -> str:
        """Draw one of the values."""
        return self._random.choice(values)

    def owner(self) -> tuple[str, str]:
        """Draw the parameter of SETOWNER: an owner or a group."""
        return self._random.choice(_OWNERS)

    def number(self, low: int, high: int) -> int:
        """Draw a number from `low` to `high`."""
        return self._random.randint(low, high)

    def on(
        self, kind: str, path: str, parameters: tuple[tuple[str, str], ...] = (), data: bytes = b""
    ) -> Operation:
        """Return an operation on one path."""
        return Operation(kind, self.where(), self.user(path), (path,), parameters, data)

    def serial(self) -> int:
        """Return a number that no earlier operation had."""
        return self._made


_Draw = Callable[[Generator, str], Operation]


def _with(path: Callable[[Generator], str], name: str = "", *values: str) -> _Draw:
    """Return a function that draws an operation on a path, with one of these values of a parameter."""

    def draw(g: Generator, kind: str) -> Operation:
        at = path(g)
        return g.on(kind, at, ((name, g.choice(*values) if len(values) > 1 else values[0]),) if name else ())

    return draw


def _create(g: Generator, kind: str) -> Operation:
    overwrite = g.choice("true", "true", "true", "true", "false")
    path = g.file()
    parameters = (("overwrite", overwrite), ("permission", g.choice("666", "666", "644", "600")))
    return g.on(kind, path, parameters, _data(g, path, 3000))


def _data(g: Generator, path: str, most: int) -> bytes:
    """Draw content; none below the erasure-coded directories, for lack of DataNodes."""
    return b"" if "/e/" in path else b"x" * g.number(0, most)


def _append_by_alias(g: Generator, kind: str) -> Operation:
    path = g.file()
    return Operation(kind, CallTarget.PROXY, g.user(path), (path,), data=b"z" * g.number(1, 2000))


def _create_raced(g: Generator, kind: str) -> Operation:
    path = g.file()
    return Operation(kind, CallTarget.PROXY, g.user(path), (path,), _OVERWRITE, _data(g, path, 3000))


def _create_held(g: Generator, kind: str) -> Operation:
    path = g.file()
    # A DataNode holds back content that fits in one packet. Of more, a block is logged while the file is open.
    return g.on(kind, path, _OVERWRITE, b"h" * (g.number(2, 3000) if g.number(0, 2) else 150_000))


def _create_flushed(g: Generator, kind: str) -> Operation:
    path = g.file()
    return Operation(kind, CallTarget.NAMENODE, None, (path,), data=_data(g, path, 3000))


def _concat(g: Generator, kind: str) -> Operation:
    target = g.file()
    source = target[:-1] + ("g" if target.endswith("f") else "f")  # HDFS refuses sources in another directory
    return Operation(kind, g.where(), None, (target, source), (("sources", source),))


def _rename(g: Generator, kind: str) -> Operation:
    source, destination = {
        "any": lambda: (g.any(), g.any()),
        "file over file": lambda: (g.file(), g.file()),
        "into or over a directory": lambda: (g.any(), g.directory()),
        "directory over directory": lambda: (g.directory(), g.directory()),
        "onto itself": lambda: (g.any(),) * 2,
    }[
        g.choice(
            "any", "file over file", "into or over a directory", "directory over directory", "onto itself"
        )
    ]()
    parameters = [("destination", destination)]
    option = g.choice("", "", "NONE", "OVERWRITE", "OVERWRITE", "TO_TRASH")
    if option:
        parameters.append(("renameoptions", option))
    into = f"{destination}/{source.rsplit('/', 1)[1]}"
    return Operation(
        f"{kind} {option}".strip(), g.where(), g.user(source), (source, destination, into), tuple(parameters)
    )


def _remake(g: Generator, kind: str) -> Operation:
    above = g.directory()
    return Operation(kind, CallTarget.PROXY, None, (f"{above}/x", above))


def _owner(g: Generator, kind: str) -> Operation:
    return Operation(kind, g.where(), None, (g.any(),), (g.owner(),))


def _times(g: Generator, kind: str) -> Operation:
    time_ms = str(1_700_000_000_000 + g.serial())
    return g.on(kind, g.any(), ((g.choice("modificationtime", "accesstime"), time_ms),))


def _set_xattr(g: Generator, kind: str) -> Operation:
    parameters = (
        ("xattr.name", "user.k"),
        ("xattr.value", "0x31"),
        ("flag", g.choice("CREATE", "CREATE", "REPLACE")),
    )
    return g.on(kind, g.directory(), parameters)


def _storage_policy(g: Generator, kind: str) -> Operation:
    # COLD is for ARCHIVE storage, which is missing here: a file below cannot be written then.
    policy = g.choice("HOT", "WARM", "ONE_SSD", "WARM", "ONE_SSD", "COLD")
    return Operation(kind, g.where(), None, (g.any(),), (("storagepolicy", policy),))


def _no_storage_policy(g: Generator, kind: str) -> Operation:
    return Operation(kind, g.where(), None, (g.any(),))


def _erasure_coding(g: Generator, kind: str) -> Operation:
    parameters = (("ecpolicy", g.choice(*_CODINGS)),) if kind == "SETECPOLICY" else ()
    return Operation(kind, g.where(), None, (g.choice(*g.coded),), parameters)


def _offer_coding(g: Generator, kind: str) -> Operation:
    """Enable or disable a policy for the whole cluster: directories that have it keep it."""
    return Operation(kind, g.where(), None, (g.coded[0],), (("ecpolicy", _CODINGS[1]),))


def _snapshot(g: Generator, kind: str) -> Operation:
    place = g.choice(*g.snapshotted)
    name, old = g.choice(*_SNAPSHOTS), g.choice(*_SNAPSHOTS)
    parameters: tuple[tuple[str, str], ...] = {
        "CREATESNAPSHOT": (("snapshotname", name),),
        "DELETESNAPSHOT": (("snapshotname", name),),
        "RENAMESNAPSHOT": (("oldsnapshotname", old), ("snapshotname", name)),
    }.get(kind, ())
    at = f"{place}/.snapshot"
    return Operation(
        kind, g.where(), None, (place, at, f"{at}/{name}", f"{at}/{name}/f", f"{at}/{old}"), parameters
    )


_KINDS: Final[dict[str, tuple[int, _Draw]]] = {
    "CREATE": (34, _create),
    "APPEND": (8, lambda g, kind: g.on(kind, g.file(), data=b"y" * g.number(1, 2000))),
    "TRUNCATE": (7, _with(Generator.file, "newlength", "0", "0", "1", "700")),
    "CONCAT": (5, _concat),
    "RENAME": (18, _rename),
    "MKDIRS": (16, _with(Generator.directory, "permission", *_MODES[:5])),
    "DELETE": (10, _with(Generator.any, "recursive", "true", "false")),
    "SETPERMISSION": (12, _with(Generator.any, "permission", *_MODES)),
    "SETOWNER": (5, _owner),
    "SETACL": (3, _with(Generator.any, "aclspec", *_WHOLE_ACLS)),
    "MODIFYACLENTRIES": (4, _with(Generator.any, "aclspec", *_ACLS)),
    "REMOVEACLENTRIES": (3, _with(Generator.any, "aclspec", "user:bob:", "user:carol:", "group:users:")),
    "REMOVEDEFAULTACL": (1, _with(Generator.any)),
    "REMOVEACL": (2, _with(Generator.any)),
    "SETREPLICATION": (3, _with(Generator.file, "replication", "1", "2", "3")),
    "SETTIMES": (4, _times),
    "SETXATTR": (3, _set_xattr),
    "REMOVEXATTR": (3, _with(Generator.directory, "xattr.name", "user.k")),
    "SETSTORAGEPOLICY": (3, _storage_policy),
    "UNSETSTORAGEPOLICY": (3, _no_storage_policy),
    "SETECPOLICY": (2, _erasure_coding),
    "UNSETECPOLICY": (1, _erasure_coding),
    "ENABLEECPOLICY": (1, _offer_coding),
    "DISABLEECPOLICY": (1, _offer_coding),
    "ALLOWSNAPSHOT": (4, _snapshot),
    "DISALLOWSNAPSHOT": (2, _snapshot),
    "CREATESNAPSHOT": (4, _snapshot),
    "RENAMESNAPSHOT": (2, _snapshot),
    "DELETESNAPSHOT": (4, _snapshot),
    "OPEN": (2, _with(Generator.file, "noredirect", "true")),
    REMADE: (2, _remake),
    RACED: (2, _create_raced),
    ALIASED: (2, _append_by_alias),
    LATE: (1, _create_raced),
    HELD: (4, _create_held),
    FLUSHED: (3, _create_flushed),
}
"""The weight of each kind, and how it is drawn."""
