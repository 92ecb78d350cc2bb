"""The parameters of a WebHDFS request, and their errors.

Pure. Source: org.apache.hadoop.hdfs.web.resources of Hadoop 3.5.0: each method reads its own parameters, in this order,
and refuses the first that it cannot parse, used or not. Names are case-sensitive, except those of users.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

from nncache.hadoop.operations import OPERATIONS
from nncache.namenode.namespace.inode import AclEntry
from nncache.namenode.namespace.refusal import Java, Refusal

Value: TypeAlias = str | int | bool | None
Read: TypeAlias = Callable[[str, str], Value]

_USER: Final = "^[A-Za-z_][A-Za-z0-9._-]*[$]?$"
_ACL: Final = (
    "^(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?"
    "(,(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?)*$"
)
"""In Java's syntax, which allows a class within a class; refusals quote it."""
_PYTHON_ACL: Final = re.compile(_ACL.replace("[[A-Za-z_][A-Za-z0-9._-]]*", "[A-Za-z0-9._-]*"))
MAX_LONG: Final = 2**63 - 1


class _WrongValueError(Exception):
    """The message of Java's exception about a value."""


def _text(_: str, value: str) -> Value:
    return value or None


def _matching(pattern: str, compiled: re.Pattern[str] | None = None) -> Read:
    python = compiled or re.compile(pattern)

    def read(_: str, value: str) -> Value:
        if value and not python.fullmatch(value):
            raise _WrongValueError(f'Invalid value: "{value}" does not belong to the domain {pattern}')
        return value or None

    return read


def _number(
    kind: str, low: int | None, high: int | None, *, radix: int = 10, largest: int = MAX_LONG
) -> Read:
    def read(name: str, value: str) -> Value:
        if value in {"", "null"}:
            return None
        if not re.fullmatch(r"[+-]?[0-9]+", value) or (radix == 8 and re.search("[89]", value)):  # noqa: PLR2004 - octal
            raise _WrongValueError(f'Failed to parse "{value}" as a radix-{radix} {kind}.')
        number = int(value, radix)
        if not -largest - 1 <= number <= largest:
            raise _WrongValueError(f'Failed to parse "{value}" as a radix-{radix} {kind}.')
        shown = f"{number:o}" if radix == 8 else str(number)  # noqa: PLR2004 - octal
        if low is not None and number < low:
            raise _WrongValueError(f"Invalid parameter range: {name} = {shown} < {low}")
        if high is not None and number > high:
            raise _WrongValueError(f"Invalid parameter range: {name} = {shown} > {high:o}")
        return number

    return read


def _flag(*, default: bool = False) -> Read:
    def read(_: str, value: str) -> Value:
        if value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if not value:
            return default
        raise _WrongValueError(f'Failed to parse "{value}" to Boolean.')

    return read


def _one_of(java_class: str, *names: str) -> Read:
    def read(_: str, value: str) -> Value:
        for each in filter(None, value.split(",")):
            if each.strip().upper() not in names:
                raise _WrongValueError(f"No enum constant {java_class}.{each.strip().upper()}")
        return ",".join(each.strip().upper() for each in value.split(",")) if value else None

    return read


def _destination(_: str, value: str) -> Value:
    """Read a path as org.apache.hadoop.fs.Path does.

    The first name behind a leading "//" is a host's; `.` and `..` are resolved, but for those above the root.
    """
    if value and not value.startswith("/"):
        raise _WrongValueError(f'Invalid parameter value: destination = "{value}" is not an absolute path.')
    names: list[str] = []
    path = value[2:].partition("/")[2] if value.startswith("//") else value
    for name in path.split("/"):
        if name == ".." and names and names[-1] != "..":
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return f"/{'/'.join(names)}" if value else None


_LONG: Final = _number("long integer", 0, None)
_QUOTA: Final = _number("long integer", -1, None)
_BUFFER: Final = _number("integer", 1, None, largest=2**31 - 1)

_COMMON: Final[Mapping[str, Read]] = {"delegation": _text}
_METHODS: Final[Mapping[str, Mapping[str, Read]]] = {
    "PUT": {
        "destination": _destination, "owner": _text, "group": _text,
        "permission": _number("short integer", 0, 0o1777, radix=8, largest=2**15 - 1),
        "unmaskedpermission": _number("short integer", 0, 0o1777, radix=8, largest=2**15 - 1),
        "overwrite": _flag(), "buffersize": _BUFFER,
        "replication": _number("short integer", 1, None, largest=2**15 - 1),
        "blocksize": _number("long integer", 1, None), "modificationtime": _number("long integer", -1, None),
        "accesstime": _number("long integer", -1, None),
        "renameoptions": _one_of("org.apache.hadoop.fs.Options.Rename", "NONE", "OVERWRITE", "TO_TRASH"),
        "createparent": _flag(default=True), "token": _text, "aclspec": _matching(_ACL, _PYTHON_ACL),
        "xattr.name": _text,
        "xattr.value": _text, "flag": _one_of("org.apache.hadoop.fs.XAttrSetFlag", "CREATE", "REPLACE"),
        "snapshotname": _text, "oldsnapshotname": _text, "excludedatanodes": _text,
        "createflag": _one_of(
            "org.apache.hadoop.fs.CreateFlag", "CREATE", "OVERWRITE", "APPEND", "SYNC_BLOCK", "LAZY_PERSIST",
            "NEW_BLOCK", "NO_LOCAL_WRITE", "SHOULD_REPLICATE", "IGNORE_CLIENT_LOCALITY", "NO_LOCAL_RACK",
        ),
        "noredirect": _flag(), "storagepolicy": _text, "ecpolicy": _text, "namespacequota": _QUOTA,
        "storagespacequota": _QUOTA, "storagetype": _text,
    },
    "POST": {
        "sources": _text, "buffersize": _BUFFER, "excludedatanodes": _text, "newlength": _LONG,
        "noredirect": _flag(),
    },
    "GET": {
        "offset": _LONG, "length": _LONG, "renewer": _text, "buffersize": _BUFFER, "xattr.name": _text,
        "encoding": _one_of("org.apache.hadoop.fs.XAttrCodec", "TEXT", "HEX", "BASE64"), "excludedatanodes": _text,
        "fsaction": _matching("[r-][w-][x-]"), "snapshotname": _text, "oldsnapshotname": _text,
        "snapshotdiffstartpath": _text, "snapshotdiffindex": _number("integer", None, None, largest=2**31 - 1),
        "kind": _text, "service": _text, "noredirect": _flag(), "startafter": _text, "allusers": _flag(),
    },
    "DELETE": {"recursive": _flag(), "snapshotname": _text},
}  # fmt: skip

_USER_NAME: Final = "user.name"
_NAMES: Final = {
    method: {row.name for row in OPERATIONS if row.method == method}
    for method in ("GET", "PUT", "POST", "DELETE")
}
_MORE_OPERATIONS: Final = {"GET": {"GETSTORAGEPOLICY"}}


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of one request, each parsed by the rules of its method."""

    op: str
    user: str | None
    doas: str | None
    values: Mapping[str, Value]
    raw: Mapping[str, tuple[str, ...]]

    def text(self, name: str) -> str | None:
        """Return a text; None if it is missing."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str, default: int) -> int:
        """Return a number; the default if it is missing."""
        value = self.values.get(name)
        return value if isinstance(value, int) else default

    def optional(self, name: str) -> int | None:
        """Return a number; None if it is missing."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool:
        """Return a flag; False if it is missing."""
        return self.values.get(name) is True

    def set_of(self, name: str) -> frozenset[str]:
        """Return the words of an enumeration."""
        return frozenset(filter(None, (self.text(name) or "").split(",")))

    def require(self, *names: str) -> None:
        """Refuse a request without one of these parameters."""
        for name in names:
            if self.values.get(name) is None:
                message = f"Required param {name} for op: {self.op} is null or empty"
                raise Refusal(Java.ILLEGAL_ARGUMENT, message)


def parse_query(query: str) -> dict[str, tuple[str, ...]]:
    """Return the decoded parameters of a query: all values of each name, in their order."""
    found: dict[str, list[str]] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name:
            found.setdefault(_decoded(name), []).append(_decoded(value))
    return {name: tuple(values) for name, values in found.items()}


def _decoded(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ").encode("utf-8", "surrogateescape")).decode(
        "utf-8", "replace"
    )


def parse_parameters(method: str, query: str) -> Parameters:
    """Parse a request's parameters.

    Raises:
        Refusal: a parameter is not valid.
    """
    raw = parse_query(query)
    user = _read(_USER_NAME, named_user(raw, _USER_NAME) or "", _matching(_USER))
    doas = _read("doas", named_user(raw, "doas") or "", _matching(_USER))
    op = _operation(method, raw.get("op", ("null",))[0])
    values = {
        name: _read(name, raw[name][0], read)
        for name, read in {**_COMMON, **_METHODS[method]}.items()
        if name in raw
    }
    if method == "PUT":
        values.setdefault("createparent", True)
    return Parameters(
        op, user if isinstance(user, str) else None, doas if isinstance(doas, str) else None, values, raw
    )


def named_user(raw: Mapping[str, Sequence[str]], name: str) -> str | None:
    """Return the value of a user's parameter. A name in another case precedes the plain one, as in 3.5.0."""
    spelled = [key for key in raw if key.lower() == name]
    spelled.sort(key=lambda key: key == name)
    return raw[spelled[0]][0] if spelled else None


def _operation(method: str, value: str) -> str:
    if value in {"", "null"}:
        gap = "  " if method == "PUT" else " "
        raise Refusal(Java.UNSUPPORTED_OPERATION, f"op=NULL{gap}is not supported")
    name = value.upper()
    if name not in _NAMES[method] | _MORE_OPERATIONS.get(method, set()):
        raise _wrong("op", f"{value} is not a valid {method} operation.")
    return name


def _read(name: str, value: str, read: Read) -> Value:
    try:
        return read(name, value)
    except _WrongValueError as wrong:
        raise _wrong(name, str(wrong)) from None


def _wrong(name: str, what: str) -> Refusal:
    return Refusal(
        Java.ILLEGAL_ARGUMENT,
        f'Invalid value for webhdfs parameter "{name}": java.lang.IllegalArgumentException: {what}',
    )


def parse_acl(spec: str | None, *, with_permission: bool) -> list[AclEntry]:
    """Parse an ACL that matches `_ACL` (AclEntry.parseAclSpec)."""
    entries: list[AclEntry] = []
    for part in filter(None, (spec or "").split(",")):
        words = part.split(":")
        is_default = words[0] == "default"
        kind, name, bits = words[1:] if is_default else words
        if with_permission is not bool(bits):
            raise Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, f"Invalid <aclSpec> : {part}")
        if any(bit not in (letter, "-") for bit, letter in zip(bits, "rwx", strict=False)):
            raise Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, f"Invalid permission in <aclSpec> : {part}")
        permission = sum(value for value, letter in ((4, "r"), (2, "w"), (1, "x")) if letter in bits)
        entries.append(AclEntry(is_default=is_default, type=kind, name=name, permission=permission))
    return entries
