"""Random operations on a small namespace, as values that can be printed and made again from their seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from testbed.asker import RawReply
from tests.world import USERS, Where, World

_DIRECTORIES: Final = ("a", "a/x", "a/y", "b", "b/x", "s", "s/x")
_FILES: Final = ("f", "g")
_OPENED_EVERY: Final = 3
_MODES: Final = ("700", "711", "755", "770", "777", "070", "000")
_ACLS: Final = ("user:bob:r-x", "user:bob:---", "user:carol:--x", "group:users:rwx", "other::---")


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, or one two-step write.

    Attributes:
        paths: what it is about; the first is the one whose change is timed.
        user: None is the superuser.
    """

    kind: str
    where: Where
    user: str | None
    paths: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    data: bytes = field(default=b"", repr=False)

    def carry_out(self, world: World) -> RawReply:
        """Make the call; the reply's `ended_at` is when the change was acknowledged."""
        parameters = dict(self.parameters)
        if self.kind in {"CREATE", "APPEND"}:
            return world.write(
                self.where, self.paths[0], self.data, self.user, op=self.kind, parameters=parameters
            )
        method = _METHODS.get(self.kind, "PUT")
        return world.call(self.where, method, self.kind, self.paths[0], self.user, **parameters)


_METHODS: Final = {
    "DELETE": "DELETE",
    "DELETESNAPSHOT": "DELETE",
    "TRUNCATE": "POST",
    "CONCAT": "POST",
    "UNSETSTORAGEPOLICY": "POST",
    "OPEN": "GET",
}


class Generator:
    """A seeded source of operations below one directory."""

    def __init__(self, seed: int, root: str) -> None:
        self._random = random.Random(seed)
        self._root = root
        self._made = 0
        self.directories = tuple(f"{root}/{name}" for name in _DIRECTORIES)
        self.files = tuple(f"{place}/{name}" for place in self.directories for name in _FILES)
        self.paths = (*self.directories, *self.files)

    def next(self) -> Operation:
        """Draw the next operation."""
        self._made += 1
        if self._made % _OPENED_EVERY == 0:
            return self._open_up()
        kind = self._random.choices(list(_KINDS), [weight for weight, _ in _KINDS.values()])[0]
        return _KINDS[kind][1](self, kind)

    def _open_up(self) -> Operation:
        """Let everybody into a part of the tree again; random modes and owners would shut all doors for good."""
        turn = self._made // _OPENED_EVERY
        place = f"{self._root}/{_DIRECTORIES[turn % len(_DIRECTORIES)]}"
        kind, parameters = (
            ("MKDIRS", (("permission", "777"),)),
            ("REMOVEACL", ()),
            ("SETPERMISSION", (("permission", "777"),)),
        )[turn % 3]
        return Operation(kind, self.where(), None, (place,), parameters)

    def some_paths(self, number: int) -> list[str]:
        """Draw paths to look at beside those of the operation."""
        return self._random.sample(self.paths, number)

    # -- what each kind is about

    def where(self) -> Where:
        """Through the proxy or behind its back, as often the one as the other."""
        return self._random.choice(tuple(Where))

    def user(self, path: str) -> str | None:
        """Mostly the one to whom that part of the tree was given; now and then the superuser."""
        area = path.removeprefix(self._root + "/").split("/")[0]
        owner = {"a": "alice", "b": "bob"}.get(area, "carol")
        return self._random.choice((owner, owner, owner, owner, *USERS, None, None))

    def file(self) -> str:
        """A file of the namespace, whether it exists or not."""
        return self._random.choice(self.files)

    def directory(self) -> str:
        """A directory of the namespace, whether it exists or not."""
        return self._random.choice(self.directories)

    def any(self) -> str:
        """Any path of the namespace."""
        return self._random.choice(self.paths)

    def choice(self, *values: str) -> str:
        """One of the values."""
        return self._random.choice(values)

    def number(self, low: int, high: int) -> int:
        """A number between the two."""
        return self._random.randint(low, high)

    def on(
        self,
        kind: str,
        path: str,
        parameters: tuple[tuple[str, str], ...] = (),
        data: bytes = b"",
    ) -> Operation:
        """An operation on one path."""
        return Operation(kind, self.where(), self.user(path), (path,), parameters, data)

    def serial(self) -> int:
        """A number that no earlier operation had."""
        return self._made


def _create(g: Generator, kind: str) -> Operation:
    overwrite = g.choice("true", "true", "false")
    data = b"x" * g.number(0, 3000)
    return g.on(kind, g.file(), (("overwrite", overwrite),), data)


def _append(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.file(), data=b"y" * g.number(1, 2000))


def _truncate(g: Generator, kind: str) -> Operation:
    length = g.choice("0", "0", "1", "700")
    return g.on(kind, g.file(), (("newlength", length),))


def _concat(g: Generator, kind: str) -> Operation:
    target = g.file()
    source = g.choice(*(path for path in g.files if path != target))
    return Operation(kind, g.where(), None, (target, source), (("sources", source),))


def _rename(g: Generator, kind: str) -> Operation:
    source, destination = g.any(), g.any()
    parameters = [("destination", destination)]
    option = g.choice("", "", "NONE", "OVERWRITE")
    if option:
        parameters.append(("renameoptions", option))
    into = f"{destination}/{source.rsplit('/', 1)[1]}"
    return Operation(kind, g.where(), g.user(source), (source, destination, into), tuple(parameters))


def _mkdirs(g: Generator, kind: str) -> Operation:
    permission = g.choice(*_MODES[:5])
    return g.on(kind, g.directory(), (("permission", permission),))


def _delete(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.any(), (("recursive", g.choice("true", "false")),))


def _permission(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.any(), (("permission", g.choice(*_MODES)),))


def _owner(g: Generator, kind: str) -> Operation:
    return Operation(kind, g.where(), None, (g.any(),), (("owner", g.choice(*USERS)),))


def _acl(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.any(), (("aclspec", g.choice(*_ACLS)),))


def _remove_acl(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.any())


def _replication(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.file(), (("replication", g.choice("1", "2", "3")),))


def _times(g: Generator, kind: str) -> Operation:
    time_ms = str(1_700_000_000_000 + g.serial())
    return g.on(kind, g.any(), (("modificationtime", time_ms),))


def _xattr(g: Generator, kind: str) -> Operation:
    parameters = (("xattr.name", "user.k"), ("xattr.value", "0x31"), ("flag", g.choice("CREATE", "REPLACE")))
    return g.on(kind, g.any(), parameters)


def _storage_policy(g: Generator, kind: str) -> Operation:
    # Announced by no event: behind the proxy's back it is a named exception of Bounded.
    return Operation(
        kind, Where.PROXY, None, (g.directory(),), (("storagepolicy", g.choice("HOT", "COLD", "WARM")),)
    )


def _open(g: Generator, kind: str) -> Operation:
    return g.on(kind, g.file(), (("noredirect", "true"),))


_KINDS: Final[dict[str, tuple[int, Callable[[Generator, str], Operation]]]] = {
    "CREATE": (22, _create),
    "APPEND": (6, _append),
    "TRUNCATE": (4, _truncate),
    "CONCAT": (4, _concat),
    "RENAME": (14, _rename),
    "MKDIRS": (16, _mkdirs),
    "DELETE": (10, _delete),
    "SETPERMISSION": (12, _permission),
    "SETOWNER": (5, _owner),
    "MODIFYACLENTRIES": (4, _acl),
    "REMOVEACL": (2, _remove_acl),
    "SETREPLICATION": (3, _replication),
    "SETTIMES": (4, _times),
    "SETXATTR": (2, _xattr),
    "SETSTORAGEPOLICY": (2, _storage_policy),
    "OPEN": (2, _open),
}
"""How often each kind is drawn, and what it is about. SETACL and the snapshots come with the longer runs."""
