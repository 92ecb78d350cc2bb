"""Random operations of several users on few names. (tests/namenode/drawing.py)"""

import random
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
    """One call."""

    method: str
    path: str
    op: str
    user: str
    body: bytes | None = None
    parameters: dict[str, str | int] = field(default_factory=dict)


def draw(rng: random.Random, root: str) -> Operation:
    """Draw an operation on something below a directory."""
    kind = rng.choices(*zip(*_KINDS.items(), strict=True))[0]
    user = rng.choice(USERS)
    return _drawn(rng, kind, user, root)


_KINDS = {
    "MKDIRS": 12, "CREATE": 14, "RENAME": 12, "RENAME2": 10, "DELETE": 10, "APPEND": 5, "TRUNCATE": 3, "CONCAT": 4,
    "SETPERMISSION": 7, "SETOWNER": 4, "SETREPLICATION": 2, "SETTIMES": 2, "MODIFYACLENTRIES": 4, "SETACL": 3,
    "REMOVEACLENTRIES": 3, "REMOVEDEFAULTACL": 1, "REMOVEACL": 2, "SETXATTR": 3, "REMOVEXATTR": 2, "SETQUOTA": 3,
    "SETSTORAGEPOLICY": 2, "UNSETSTORAGEPOLICY": 1, "GETFILESTATUS": 3, "LISTSTATUS": 3, "GETCONTENTSUMMARY": 2,
    "GETQUOTAUSAGE": 1, "GETACLSTATUS": 2, "GETXATTRS": 1, "CHECKACCESS": 2, "OPEN": 4, "GETSTORAGEPOLICY": 1,
    "LISTSTATUS_BATCH": 1,
}  # fmt: skip

_METHODS = {
    "DELETE": "DELETE",
    "APPEND": "POST",
    "TRUNCATE": "POST",
    "CONCAT": "POST",
    "UNSETSTORAGEPOLICY": "POST",
}
_READS = ("GET", "LIST", "CHECK", "OPEN")


def _path(rng: random.Random, root: str) -> str:
    return "/".join([root, *(rng.choice(NAMES) for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))])


def _drawn(rng: random.Random, kind: str, user: str, root: str) -> Operation:
    path = _path(rng, root)
    op = "RENAME" if kind == "RENAME2" else kind
    method = _METHODS.get(op, "GET" if op.startswith(_READS) else "PUT")
    parameters: dict[str, str | int] = {}
    body: bytes | None = None
    match kind:
        case "MKDIRS":
            parameters = rng.choice(
                (
                    {},
                    {},
                    {"permission": rng.choice(_MODES)},
                    {"permission": "755", "unmaskedpermission": "777"},
                )
            )
        case "CREATE":
            body = rng.randbytes(rng.choice((0, 1, 100, BLOCK, BLOCK + 1, 3 * BLOCK)))
            parameters = {"blocksize": BLOCK, "overwrite": rng.choice(("true", "false"))}
            if rng.random() < 0.3:
                parameters["createparent"] = "false"
            if rng.random() < 0.3:
                parameters["permission"] = rng.choice(_MODES)
        case "APPEND":
            body = rng.randbytes(rng.choice((0, 1, 600, BLOCK)))
        case "RENAME" | "RENAME2":
            parameters = {"destination": _path(rng, root)}
            if kind == "RENAME2":
                parameters["renameoptions"] = rng.choice(("NONE", "OVERWRITE", "OVERWRITE", "TO_TRASH"))
        case "DELETE":
            parameters = {"recursive": rng.choice(("true", "false"))}
        case "TRUNCATE":
            parameters = {"newlength": rng.choice((0, BLOCK, 2 * BLOCK, 5 * BLOCK))}
        case "CONCAT":
            above = path.rpartition("/")[0]
            parameters = {
                "sources": ",".join(f"{above}/{rng.choice(NAMES)}" for _ in range(rng.choice((1, 1, 2))))
            }
        case "SETPERMISSION":
            parameters = {"permission": rng.choice(_MODES)}
        case "SETOWNER":
            parameters = rng.choice(
                ({"owner": rng.choice(USERS)}, {"group": rng.choice(("users", "carol", "bob"))})
            )
        case "SETREPLICATION":
            parameters = {"replication": rng.choice((1, 2, 3, 600))}
        case "SETTIMES":
            parameters = {"modificationtime": rng.choice((-1, 5)), "accesstime": rng.choice((-1, 7))}
        case "MODIFYACLENTRIES" | "SETACL":
            parameters = {"aclspec": rng.choice([each for each in _ACLS if ":," not in f"{each},"])}
        case "REMOVEACLENTRIES":
            parameters = {"aclspec": rng.choice(_ACLS)}
        case "SETXATTR":
            parameters = {
                "xattr.name": rng.choice(("user.x", "user.y", "trusted.z", "system.q", "bare")),
                "xattr.value": rng.choice(("", '"text"', "0x41", "0sQQ==")),
                "flag": rng.choice(("CREATE", "REPLACE", "CREATE,REPLACE")),
            }
        case "REMOVEXATTR":
            parameters = {"xattr.name": rng.choice(("user.x", "user.y", "trusted.z"))}
        case "SETQUOTA":
            parameters = {
                "namespacequota": rng.choice((-1, 3, 6, 20)),
                "storagespacequota": rng.choice((-1, 4 * BLOCK, 20 * BLOCK)),
            }
            user = rng.choice(("root", "root", "alice"))
        case "SETSTORAGEPOLICY":
            parameters = {"storagepolicy": rng.choice(("HOT", "WARM", "ONE_SSD", "BOGUS"))}
        case "GETXATTRS":
            parameters = {"encoding": rng.choice(("TEXT", "HEX", "BASE64"))}
        case "CHECKACCESS":
            parameters = {"fsaction": rng.choice(("r--", "-w-", "--x", "rwx"))}
        case "OPEN":
            parameters = rng.choice(({}, {"offset": 1}, {"offset": BLOCK, "length": 10}, {"length": 0}))
        case _:
            pass
    return Operation(method, path, op, user, body, parameters)
