"""Random operations of several users on a small set of names."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

USERS = ("root", "alice", "bob", "carol")
NAMES = ("a", "b", "c", "é")
BLOCK = 1024
_MODES = ("755", "700", "777", "750", "1777", "644", "000", "711", "770")
_ACLS = (
    "user:alice:rwx", "user:bob:r-x,group:users:r--", "default:user:carol:rwx", "mask::r-x,user:bob:rwx",
    "default:group:users:r-x,default:mask::r--", "group::rwx", "user:alice:,group:users:", "default:user:carol:",
    "user::rwx,group::r-x,other::---", "user::rwx,group::r-x,other::r-x,user:bob:rw-,default:user:bob:rwx", "mask::rwx",
)  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One WebHDFS call."""

    method: str
    path: str
    op: str
    user: str
    body: bytes | None = None
    parameters: dict[str, str | int] = field(default_factory=dict)


def draw(rng: random.Random, root: str) -> Operation:
    """Draw a random operation on a path below `root`."""
    kind = rng.choices(*zip(*_KINDS.items(), strict=True))[0]
    user = rng.choice(USERS)
    path = _path(rng, root)
    op = "RENAME" if kind == "RENAME2" else kind
    method = _METHODS.get(op, "GET" if op.startswith(_READS) else "PUT")
    sizes = _BODIES.get(kind)
    body = None if sizes is None else rng.randbytes(rng.choice(sizes))
    parameters = dict(_PARAMETERS[kind](rng, path, root)) if kind in _PARAMETERS else {}
    return Operation(method, path, op, user, body, parameters)


_KINDS = {
    "MKDIRS": 12, "CREATE": 14, "RENAME": 12, "RENAME2": 10, "DELETE": 10, "APPEND": 5, "TRUNCATE": 3, "CONCAT": 4,
    "SETPERMISSION": 7, "SETOWNER": 4, "SETREPLICATION": 2, "SETTIMES": 2, "MODIFYACLENTRIES": 4, "SETACL": 3,
    "REMOVEACLENTRIES": 3, "REMOVEDEFAULTACL": 1, "REMOVEACL": 2, "SETXATTR": 3, "REMOVEXATTR": 2, "SETQUOTA": 3,
    "SETSTORAGEPOLICY": 2, "UNSETSTORAGEPOLICY": 1, "GETFILESTATUS": 3, "LISTSTATUS": 3, "GETCONTENTSUMMARY": 2,
    "GETQUOTAUSAGE": 1, "GETACLSTATUS": 2, "GETXATTRS": 1, "CHECKACCESS": 2, "OPEN": 4, "GETSTORAGEPOLICY": 1,
    "LISTSTATUS_BATCH": 1, "ALLOWSNAPSHOT": 2, "DISALLOWSNAPSHOT": 2, "DELETESNAPSHOT": 1, "RENAMESNAPSHOT": 1,
    "GETSNAPSHOTLIST": 1, "GETSNAPSHOTTABLEDIRECTORYLIST": 1,
}  # fmt: skip
"""The weight of each operation in a draw."""

_METHODS = {
    "DELETE": "DELETE",
    "APPEND": "POST",
    "TRUNCATE": "POST",
    "CONCAT": "POST",
    "UNSETSTORAGEPOLICY": "POST",
    "DELETESNAPSHOT": "DELETE",
}
_READS = ("GET", "LIST", "CHECK", "OPEN")
_BODIES = {"CREATE": (0, 1, 100, BLOCK, BLOCK + 1, 3 * BLOCK), "APPEND": (0, 1, 600, BLOCK)}
"""Body lengths to draw from, in bytes."""


def _path(rng: random.Random, root: str) -> str:
    return "/".join([root, *(rng.choice(NAMES) for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))])


Parameters = Mapping[str, str | int]


def _of_mkdirs(rng: random.Random, _path: str, _root: str) -> Parameters:
    return rng.choice(
        ({}, {}, {"permission": rng.choice(_MODES)}, {"permission": "755", "unmaskedpermission": "777"})
    )


def _of_create(rng: random.Random, _path: str, _root: str) -> Parameters:
    parameters: dict[str, str | int] = {"blocksize": BLOCK, "overwrite": rng.choice(("true", "false"))}
    if rng.random() < 0.3:
        parameters["createparent"] = "false"
    if rng.random() < 0.3:
        parameters["permission"] = rng.choice(_MODES)
    return parameters


def _of_concat(rng: random.Random, path: str, _root: str) -> Parameters:
    above = path.rpartition("/")[0]
    return {"sources": ",".join(f"{above}/{rng.choice(NAMES)}" for _ in range(rng.choice((1, 1, 2))))}


_PARAMETERS: Mapping[str, Callable[[random.Random, str, str], Parameters]] = {
    "MKDIRS": _of_mkdirs,
    "CREATE": _of_create,
    "RENAME": lambda rng, _, root: {"destination": _path(rng, root)},
    "RENAME2": lambda rng, _, root: {
        "destination": _path(rng, root),
        "renameoptions": rng.choice(("NONE", "OVERWRITE", "OVERWRITE", "TO_TRASH")),
    },
    "DELETE": lambda rng, *_: {"recursive": rng.choice(("true", "false"))},
    "TRUNCATE": lambda rng, *_: {"newlength": rng.choice((0, BLOCK, 2 * BLOCK, 5 * BLOCK))},
    "CONCAT": _of_concat,
    "SETPERMISSION": lambda rng, *_: {"permission": rng.choice(_MODES)},
    "SETOWNER": lambda rng, *_: rng.choice(
        ({"owner": rng.choice(USERS)}, {"group": rng.choice(("users", "carol", "bob"))})
    ),
    "SETREPLICATION": lambda rng, *_: {"replication": rng.choice((1, 2, 3, 600))},
    "SETTIMES": lambda rng, *_: {
        "modificationtime": rng.choice((-1, 5)),
        "accesstime": rng.choice((-1, 7)),
    },
    "MODIFYACLENTRIES": lambda rng, *_: {"aclspec": rng.choice(_ACLS)},
    "SETACL": lambda rng, *_: {"aclspec": rng.choice(_ACLS)},
    "REMOVEACLENTRIES": lambda rng, *_: {"aclspec": rng.choice(_ACLS)},
    "SETXATTR": lambda rng, *_: {
        "xattr.name": rng.choice(("user.x", "user.y", "trusted.z", "system.q", "bare")),
        "xattr.value": rng.choice(("", '"text"', "0x41", "0sQQ==")),
        "flag": rng.choice(("CREATE", "REPLACE", "CREATE,REPLACE")),
    },
    "REMOVEXATTR": lambda rng, *_: {"xattr.name": rng.choice(("user.x", "user.y", "trusted.z"))},
    "SETQUOTA": lambda rng, *_: {
        "namespacequota": rng.choice((-1, 3, 6, 20)),
        "storagespacequota": rng.choice((-1, 4 * BLOCK, 20 * BLOCK)),
    },
    "SETSTORAGEPOLICY": lambda rng, *_: {"storagepolicy": rng.choice(("HOT", "WARM", "ONE_SSD", "BOGUS"))},
    "DELETESNAPSHOT": lambda *_: {"snapshotname": "one"},
    "RENAMESNAPSHOT": lambda *_: {"oldsnapshotname": "one", "snapshotname": "two"},
    "GETXATTRS": lambda rng, *_: {"encoding": rng.choice(("TEXT", "HEX", "BASE64"))},
    "CHECKACCESS": lambda rng, *_: {"fsaction": rng.choice(("r--", "-w-", "--x", "rwx"))},
    "OPEN": lambda rng, *_: rng.choice(({}, {"offset": 1}, {"offset": BLOCK, "length": 10}, {"length": 0})),
}
