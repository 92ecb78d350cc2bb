"""Cheap calls of a user without rights, with a NameNode's reply to each.

Each call is one that once cost other users something, or a random combination of methods, operations, paths,
arguments and header fields. The NameNode's reactions are those of Hadoop 3.5.0.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.proxy.messages import Headers
from tests.model.namespace import SUPERUSER

ATTACKER: Final = "mallory"

LAYOUT: Final[Mapping[str, tuple[bool, str, int]]] = {
    "/p": (True, "alice", 0o755),
    "/p/w": (True, "alice", 0o755),
    "/p/w/f": (False, "alice", 0o640),
    "/h": (True, SUPERUSER, 0o755),
    "/h/alice": (True, "alice", 0o700),
    "/h/alice/w": (True, "alice", 0o755),
    "/h/alice/w/f": (False, "alice", 0o644),
    "/h/alice/w/d": (True, "alice", 0o755),
    "/h/bob": (True, "bob", 0o711),
    "/h/bob/w": (True, "bob", 0o700),
    "/h/bob/w/f": (False, "bob", 0o600),
    "/h/mallory": (True, ATTACKER, 0o700),
    "/t": (True, SUPERUSER, 0o777),
}
"""The attacked namespace, by path: whether it is a directory, its owner and its mode."""

WATCHED: Final = (
    ("alice", "/p/w"),
    ("alice", "/p/w/f"),
    ("bob", "/p/w/f"),
    ("bob", "/p/w/_SUCCESS"),
    ("alice", "/h/alice/w"),
    ("alice", "/h/alice/w/f"),
    ("alice", "/h/alice/w/_SUCCESS"),
    ("bob", "/h/bob/w/f"),
)
"""The polls by user: each path exists, or is missing, throughout, and the attacker may not change it."""

PATHS: Final = (
    *dict.fromkeys(path for _, path in WATCHED),
    "/p",
    "/h",
    "/h/alice",
    "/h/alice/w/d",
    "/h/alice/w/none/deeper",
    "/h/bob/w/d",
    "/h/none",
    "/h/mallory/x",
    "/t",
    "/t/x",
    "/t/x/y",
)
"""The paths that the attacker names."""

READS: Final = (
    "LISTSTATUS",
    "GETACLSTATUS",
    "GETCONTENTSUMMARY",
    "OPEN",
    "GETFILECHECKSUM",
    "GETXATTRS",
    "CHECKACCESS",
)
WRITES: Final = (
    ("PUT", "MKDIRS"), ("PUT", "SETPERMISSION"), ("PUT", "SETOWNER"), ("PUT", "SETTIMES"), ("PUT", "SETREPLICATION"),
    ("PUT", "SETACL"), ("PUT", "SETXATTR"), ("PUT", "SETSTORAGEPOLICY"), ("PUT", "SETQUOTA"), ("PUT", "CREATESYMLINK"),
    ("PUT", "CREATESNAPSHOT"), ("POST", "TRUNCATE"), ("POST", "CONCAT"), ("POST", "UNSETSTORAGEPOLICY"),
    ("DELETE", "DELETE"), ("DELETE", "DELETESNAPSHOT"),
)  # fmt: skip
ODD_METHODS: Final = ("PATCH", "BREW", "PROPFIND", "OPTIONS", "TRACE", "put")
FIELDS: Final[tuple[Headers, ...]] = (
    (),
    (),
    (),
    ((b"Cache-Control", b"no-cache"),),
    ((b"Cache-Control", b"no-store"),),
    ((b"Pragma", b"no-cache"),),
    ((b"X-Forwarded-For", b"10.0.0.1"),),
    ((b"Cookie", b"hadoop.auth=x"),),
    ((b"Authorization", b"Basic x"),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCall:
    """One request.

    Attributes:
        path: its path in the NameNode's spelling; None for an alias or a path that cannot be parsed.
        op: the operation in upper case; "" if no such operation exists.
        other: another path that it names, such as a destination.
        is_odd: a NameNode refuses it before it checks the path.
    """

    method: str
    target: str
    path: str | None
    op: str = ""
    other: str = ""
    fields: Headers = ()
    is_odd: bool = False

    def __str__(self) -> str:
        fields = "".join(f" {name.decode()}: {value.decode()}" for name, value in self.fields)
        return f"{self.method} {self.target}{fields}"


Draw = Callable[[random.Random, Sequence[str]], AttackCall]


def _spelled(chance: random.Random, path: str) -> str:
    match chance.randrange(8):
        case 0:
            return path.replace("/", "//")
        case 1:
            return path + "/"
        case 2:
            return "".join(
                f"%{ord(char):02X}" if chance.random() < 0.5 and char != "/" else char for char in path
            )
        case _:
            return path


def _target(path: str, query: str) -> str:
    return f"/webhdfs/v1{path}?{query}&user.name={ATTACKER}"


def status(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a status request."""
    path = chance.choice(paths)
    return AttackCall(
        method="GET",
        target=_target(_spelled(chance, path), "op=GETFILESTATUS"),
        path=path,
        op="GETFILESTATUS",
        fields=chance.choice(FIELDS),
    )


def read(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send another read; some, such as OPEN, set an access time if they are permitted."""
    path, op = chance.choice(paths), chance.choice(READS)
    return AttackCall(method="GET", target=_target(path, f"op={op}"), path=path, op=op)


def no_read(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a read with an unknown operation, or without an argument."""
    path = chance.choice(paths)
    query = chance.choice(("op=NOBODYKNOWS", "op=OPEN&offset=x", "op=", "x=y", "op=OPEN&op=LISTSTATUS"))
    return AttackCall(method="GET", target=_target(path, query), path=path, is_odd=True)


def write(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a write of one step."""
    path, other, (method, op) = chance.choice(paths), chance.choice(paths), chance.choice(WRITES)
    query = f"op={op}&recursive=true&permission=777&owner={ATTACKER}&sources={other}&destination={other}"
    return AttackCall(method=method, target=_target(path, query), path=path, op=op, other=other)


def rename(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a RENAME between any two paths, the root included."""
    path, other = chance.choice((*paths, "/")), chance.choice((*paths, "/"))
    return AttackCall(
        method="PUT",
        target=_target(path, f"op=RENAME&destination={other}"),
        path=path,
        op="RENAME",
        other=other,
    )


def two_step(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send the first step of a CREATE or APPEND, and never the second.

    A NameNode redirects an APPEND to a directory for every user who sees it.
    """
    below = chance.choice(("", "", "/x", "/x/y/z"))
    method, op = chance.choice((("PUT", "CREATE"), ("PUT", "CREATE"), ("POST", "APPEND")))
    path = chance.choice(paths) + below
    more = chance.choice(("", "&overwrite=true", "&noredirect=true"))
    return AttackCall(method=method, target=_target(path, f"op={op}{more}"), path=path, op=op)


def alias(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a write to an alias of a path: no event will name that path."""
    path = chance.choice(
        (f"/.reserved/.inodes/{16385 + chance.randrange(9)}/x", f"/.reserved/raw{chance.choice(paths)}")
    )
    method, op = chance.choice(
        (("PUT", "CREATE"), ("PUT", "MKDIRS"), ("DELETE", "DELETE"), ("PUT", "SETTIMES"))
    )
    return AttackCall(method=method, target=_target(path, f"op={op}"), path=None, op=op)


def odd(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a request that a NameNode refuses before the path: its method, operation, user or query is bad."""
    path, other = chance.choice((*paths, "/")), chance.choice(paths)
    method, target = chance.choice(
        (
            (chance.choice(ODD_METHODS), _target(path, f"op=X&a={other}")),
            ("PUT", _target(path, f"op=X&a={other},/&b=/")),
            ("PUT", _target(path, f"op=MKDIRS&op=DELETE&destination={other}")),
            ("DELETE", f"/webhdfs/v1{path}?op=DELETE&recursive=true&user.name="),
            ("PUT", _target(path, f"op=RENAME&destination={other}&bad=%zz")),
            ("PUT", _target(path + "#f", "op=MKDIRS")),
            ("PUT", f"/webhdfs/v1{path}"),
        )
    )
    return AttackCall(method=method, target=target, path=None, is_odd=True)


def create(path: str) -> AttackCall:
    """Return the first step of a CREATE."""
    return AttackCall(method="PUT", target=_target(path, "op=CREATE"), path=path, op="CREATE")


def act_for(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Send a read for another user, as a proxy user without that right."""
    path = chance.choice(paths)
    op = chance.choice(("GETFILESTATUS", "OPEN"))
    return AttackCall(
        method="GET", target=_target(path, f"op={op}") + "&doas=alice", path=path, op=op, is_odd=True
    )


KINDS: Final[tuple[Draw, ...]] = (
    status, status, read, no_read, write, write, rename, two_step, two_step, alias, odd, odd, act_for,
)  # fmt: skip


def draw(chance: random.Random, paths: Sequence[str]) -> AttackCall:
    """Draw a call on one of these paths."""
    return chance.choice(KINDS)(chance, paths)
