"""The one table of WebHDFS operations.

Source: `GetOpParam`, `PutOpParam`, `PostOpParam`, `DeleteOpParam` of Hadoop 3.4.1 and 3.5.0, whose names are the same.
An operation that is not here is forwarded all the same; `nncache.hadoop.effects` then assumes the worst of it.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Effect(Enum):
    """What an operation makes stale; `nncache.hadoop.effects` spells each out."""

    NOTHING = auto()
    TOUCHES = auto()  # the path's own status
    APPEARS = auto()  # the path is made or replaced
    VANISHES = auto()  # the path goes, with all below
    MOVES = auto()  # to `destination`
    CONCATENATES = auto()  # `sources` go into the path
    CHANGES_ACCESS = auto()  # who may reach the path and what is below
    SETS_XATTR = auto()  # nothing, or a whole subtree, by the attribute's name
    REWRITES_SUBTREE = auto()  # HDFS announces it by no event, or only at the top


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table."""

    name: str
    method: str
    effect: Effect = Effect.NOTHING
    makes_ancestors: bool = False  # may create missing directories above the path
    # The change itself is made at a DataNode's behest, past the proxy, after a redirect.
    two_step: bool = False


def _rows(method: str, effect: Effect, *names: str) -> tuple[Operation, ...]:
    return tuple(Operation(name, method, effect) for name in names)


OPERATIONS: Final[tuple[Operation, ...]] = (
    *_rows(
        "GET", Effect.NOTHING,
        "GETFILESTATUS", "LISTSTATUS", "LISTSTATUS_BATCH", "GETCONTENTSUMMARY", "GETQUOTAUSAGE", "GETHOMEDIRECTORY",
        "GETACLSTATUS", "GETXATTRS", "LISTXATTRS", "GETTRASHROOT", "GETTRASHROOTS", "GETALLSTORAGEPOLICY",
        "GETSTORAGEPOLICY", "GETECPOLICY", "GETECPOLICIES", "GETECCODECS", "CHECKACCESS", "GETSERVERDEFAULTS",
        "GETSNAPSHOTDIFF", "GETSNAPSHOTDIFFLISTING", "GETSNAPSHOTTABLEDIRECTORYLIST", "GETSNAPSHOTLIST",
        "GETLINKTARGET", "GETFILELINKSTATUS", "GETSTATUS", "GETDELEGATIONTOKEN",
    ),
    # Reads that set the access time, when it is older than dfs.namenode.accesstime.precision.
    *_rows("GET", Effect.TOUCHES, "OPEN", "GETFILECHECKSUM", "GET_BLOCK_LOCATIONS", "GETFILEBLOCKLOCATIONS"),
    Operation("CREATE", "PUT", Effect.APPEARS, makes_ancestors=True, two_step=True),
    Operation("MKDIRS", "PUT", Effect.APPEARS, makes_ancestors=True),
    Operation("CREATESYMLINK", "PUT", Effect.APPEARS, makes_ancestors=True),
    *_rows("PUT", Effect.MOVES, "RENAME"),
    *_rows("PUT", Effect.TOUCHES, "SETREPLICATION", "SETTIMES"),
    *_rows(
        "PUT", Effect.CHANGES_ACCESS,
        "SETPERMISSION", "SETOWNER", "SETACL", "MODIFYACLENTRIES", "REMOVEACLENTRIES", "REMOVEDEFAULTACL", "REMOVEACL",
    ),
    *_rows("PUT", Effect.SETS_XATTR, "SETXATTR", "REMOVEXATTR"),
    *_rows(
        "PUT", Effect.REWRITES_SUBTREE,
        "SETSTORAGEPOLICY", "SATISFYSTORAGEPOLICY", "SETECPOLICY", "SETQUOTA", "SETQUOTABYSTORAGETYPE",
        "ALLOWSNAPSHOT", "DISALLOWSNAPSHOT", "CREATESNAPSHOT", "RENAMESNAPSHOT",
    ),
    # These are about the cluster or about a token; their path says nothing.
    *_rows("PUT", Effect.NOTHING, "ENABLEECPOLICY", "DISABLEECPOLICY", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"),
    # Its first half sets the access time, as a read does.
    Operation("APPEND", "POST", Effect.TOUCHES, two_step=True),
    *_rows("POST", Effect.TOUCHES, "TRUNCATE"),
    *_rows("POST", Effect.CONCATENATES, "CONCAT"),
    *_rows("POST", Effect.REWRITES_SUBTREE, "UNSETECPOLICY", "UNSETSTORAGEPOLICY"),
    *_rows("DELETE", Effect.VANISHES, "DELETE"),
    *_rows("DELETE", Effect.REWRITES_SUBTREE, "DELETESNAPSHOT"),
)  # fmt: skip

_BY_METHOD_AND_NAME: Final = {(row.method, row.name): row for row in OPERATIONS}


def operation(method: str, op_value: str) -> Operation | None:
    """Find the operation that `op=` names, in any letter case, for an upper-case method; HEAD is a GET.

    The case rule is Java's `toUpperCase`, which turns some letters beyond ASCII into ASCII ones; `str.upper` does the
    same.
    """
    return _BY_METHOD_AND_NAME.get(("GET" if method == "HEAD" else method, op_value.upper()))
