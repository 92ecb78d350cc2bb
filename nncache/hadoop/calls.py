"""Parse WebHDFS requests.

There are two parsers, because their errors have different costs. `parse_plain` decides what the cache may answer: it
accepts only requests that every release reads in the same way. `parse_call` decides what a forwarded request may have
changed: it accepts every request, reads it as loosely as any release might, and marks what is uncertain.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote_plus

from nncache.hadoop.operations import Operation, operation
from nncache.hadoop.paths import (
    InvalidPathError,
    canonical,
    decode_escapes,
    decode_loosely,
    decode_target_path,
    has_dot_segments,
    is_cacheable,
    percent_decode,
)
from nncache.hadoop.users import read_claimed_user
from nncache.net.addresses import MAX_PORT

PREFIX: Final = "/webhdfs/v1"
# Methods that write nothing. All others may write, unknown ones too.
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

MAX_PARAMETERS: Final = 1_000
"""Parameters of a query that are parsed; a query with more is uncertain."""

MAX_QUERIES: Final = 1_024
"""Queries, or targets, whose parsed form is memoized."""

_MAX_KEPT: Final = 256  # characters

ABSOLUTE_FORM: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
"""The start of a target in absolute-form (RFC 9112, section 3.2.2)."""

_DOAS: Final = "doas"
_PLAIN_NAMES: Final = frozenset({"op", "user.name", _DOAS, "delegation"})
_USER_NAMES: Final = frozenset({"user.name", _DOAS})
_PLAIN_VALUE: Final = re.compile(r"[A-Za-z0-9._$@/:-]+")
_UTF16_ESCAPE = re.compile("%u", re.IGNORECASE)
"""`%u002e` is a dot to a NameNode, and `/webhdfs/v1/%u002e%u002e/%u002e%u002e/jmx` its `/jmx` (Hadoop 3.5.0)."""
WHAT_IS_SERVED: Final = (
    "only /webhdfs/v1 is served here, and /v1/events and /v1/registry where they are on; "
    "the status page and the metrics are on the admin port"
)
"""The message for any other target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHdfsCall:
    """A WebHDFS request, parsed pessimistically."""

    method: str  # upper-case
    op: Operation | None  # None: unknown, missing, or uncertain
    path: str | None  # canonical; None: uncertain
    as_requested: str | None  # decoded, with its slashes unchanged; None if and only if `path` is
    arguments: Mapping[str, tuple[str, ...]]  # names lower-cased and decoded; all values, in their order
    # False: part of the query could not be parsed, so it may have more than `arguments`.
    is_certain: bool

    @property
    def is_read(self) -> bool:
        """Whether the method is safe (it may still set an access time)."""
        return self.method in SAFE_METHODS


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """A GETFILESTATUS that every release reads in the same way, except perhaps its `doas`."""

    path: str  # canonical
    as_requested: str  # as a 404 quotes it
    user_name: str | None
    doas: str | None
    delegation: str | None
    doas_may_be_ignored: bool = False
    """Its name is in another letter case, like Knox's `doAs`: 3.5.0 reads it, 3.4.1 without Kerberos does not."""


@dataclass(frozen=True, slots=True)
class PlainArguments:
    """The query of a plain GETFILESTATUS."""

    user_name: str | None
    doas: str | None
    delegation: str | None
    doas_may_be_ignored: bool = False


def parse_call(method: str, target: str) -> WebHdfsCall:
    """Parse any request line; never raises.

    A target may be in origin-form or absolute-form. With a fragment, all of it is uncertain: each parser splits it at
    another place.
    """
    upper = method.upper()
    if "#" in target:
        return WebHdfsCall(
            method=upper,
            op=None,
            path=None,
            as_requested=None,
            arguments=MappingProxyType({}),
            is_certain=False,
        )
    absolute = ABSOLUTE_FORM.match(target)
    spelled, _, query = target[absolute.end() if absolute else 0 :].partition("?")
    as_requested = _loose_path(spelled)
    arguments, is_certain = _loose_query(query)
    named = {value.upper() for value in arguments.get("op", ())}
    return WebHdfsCall(
        method=upper,
        op=operation(upper, named.pop()) if len(named) == 1 and is_certain else None,
        path=None if as_requested is None else canonical(as_requested),
        as_requested=as_requested,
        arguments=arguments,
        is_certain=is_certain,
    )


def parse_plain(target: str) -> StatusRequest | None:
    """Parse the target of a GET strictly: None unless it is a plain GETFILESTATUS of a path that may be cached.

    Plain: origin-form, and a query with only the parameters `op`, `user.name`, `doas` and `delegation`. Their names are
    in exactly this spelling, unencoded, each at most once, and their values are plain. User names may be escaped, and
    are at most as long as a file name. Only `doas` may be in any letter case, as Knox sends it: 3.5.0 does not read
    `OP`, 3.4.1 does not read `USER.NAME`, and no client sends them.
    """
    spelled, _, query = target.partition("?")
    arguments = plain_arguments(query)
    return None if arguments is None else plain_request(spelled, arguments)


def plain_arguments(query: str) -> PlainArguments | None:
    """Parse the query of a GET's target; None unless it is plain, as `parse_plain` defines it."""
    return _read_again(query) if may_be_remembered(query) else _plain_arguments(query)


def _plain_arguments(query: str) -> PlainArguments | None:
    arguments: dict[str, str] = {}
    in_other_case = False
    for parameter in query.split("&"):
        name, _, spelled = parameter.partition("=")
        if name not in _PLAIN_NAMES and name.lower() == _DOAS:
            name, in_other_case = _DOAS, True
        if name not in _PLAIN_NAMES or name in arguments:
            return None
        value = _value(name, spelled)
        if value is None:
            return None
        arguments[name] = value
    if arguments.get("op", "").upper() != "GETFILESTATUS":
        return None
    return PlainArguments(
        arguments.get("user.name"), arguments.get(_DOAS), arguments.get("delegation"), in_other_case
    )


_read_again = lru_cache(MAX_QUERIES)(_plain_arguments)


def may_be_remembered(text: str) -> bool:
    """Whether the parsed form of a query or target may be memoized: it is short and certainly holds no secret."""
    if len(text) > _MAX_KEPT or "%" in text:
        return False
    lower = text.lower()
    return "delegation" not in lower and "token" not in lower


def _value(name: str, spelled: str) -> str | None:
    """Return the value of a plain parameter; None if it is not plain."""
    if name in _USER_NAMES:
        return read_claimed_user(spelled)
    return spelled if _PLAIN_VALUE.fullmatch(spelled) else None


def plain_request(spelled: str, arguments: PlainArguments) -> StatusRequest | None:
    """Combine the part before the query with the parsed query; None unless it is a path that may be cached."""
    if not spelled.startswith(PREFIX):
        return None
    try:
        as_requested = decode_target_path(spelled[len(PREFIX) :])
        path = canonical(as_requested)
    except InvalidPathError:
        return None
    if not is_cacheable(path):
        return None
    return StatusRequest(
        path=path,
        as_requested=as_requested,
        user_name=arguments.user_name,
        doas=arguments.doas,
        delegation=arguments.delegation,
        doas_may_be_ignored=arguments.doas_may_be_ignored,
    )


def _loose_path(spelled: str) -> str | None:
    """Return the path as requested; None if parsers could differ: another prefix, bad escapes, dot segments."""
    if not spelled.startswith(PREFIX):
        return None
    try:
        decoded = decode_loosely(spelled[len(PREFIX) :])
    except InvalidPathError:
        return None
    return None if has_dot_segments(decoded) else decoded


def _loose_query(query: str) -> tuple[Mapping[str, tuple[str, ...]], bool]:
    """Return the readable parameters, at most the first `MAX_PARAMETERS`, and whether these are all."""
    arguments: dict[str, list[str]] = {}
    parameters = query.split("&", MAX_PARAMETERS)
    is_certain = len(parameters) <= MAX_PARAMETERS
    for parameter in parameters[:MAX_PARAMETERS]:
        name, _, value = parameter.partition("=")
        try:
            key, decoded = _form_decode(name).lower(), _form_decode(value)
        except InvalidPathError:
            is_certain = False
            key, decoded = unquote_plus(name).lower(), unquote_plus(value)
        if key:
            arguments.setdefault(key, []).append(decoded)
    return MappingProxyType({key: tuple(values) for key, values in arguments.items()}), is_certain


def _form_decode(text: str) -> str:
    return percent_decode(text.replace("+", " "))


def is_webhdfs(target: str) -> bool:
    """Whether every server that may read this raw target finds it below `/webhdfs`.

    A NameNode serves other pages on the same port (/jmx, /conf, /logs, /imagetransfer), which must stay unreachable.
    The target may be in origin-form or absolute-form. A server that resolves `..`, encoded or not, before or after it
    collapses empty segments or drops path parameters, stays below `/webhdfs` at every step.
    """
    if target.startswith("/webhdfs/") and "%" not in target and "/.." not in target:  # nearly always
        return True
    absolute = ABSOLUTE_FORM.match(target)
    spelled = re.split("[?#]", target[absolute.end() if absolute else 0 :], maxsplit=1)[0]
    if not spelled.startswith("/") or _UTF16_ESCAPE.search(spelled):
        return False
    path = decode_escapes(spelled.encode("utf-8", "surrogateescape"))
    if not (path == b"/webhdfs" or path.startswith(b"/webhdfs/")):
        return False
    depth = 0
    for segment in path.split(b"/")[1:] if b"/.." in path else ():
        match segment.partition(b";")[0]:
            case b"" | b".":
                pass  # some parsers count it, some do not: with fewer levels, `..` leaves /webhdfs earlier
            case b"..":
                depth -= 1
            case _:
                depth += 1
        if depth == 0:
            return False
    return True


# ---- header fields ------------------------------------------------------------------------------------------

_MAX_MEDIA_RANGES: Final = 100  # with their parameters; a browser sends ten

_JSON_RANGES: Final = frozenset({b"*/*", b"application/*", b"application/json"})
_SEMICOLON: Final = rb"[ \t]*;[ \t]*"
_PARAMETER: Final = rb"(?!qs?=)[\w.+-]+=[\w.+-]+"
_WEIGHT: Final = rb"q=(?:0?\.[0-9]{1,3}|[01](?:\.0{1,3})?)"
_OF_NO_WEIGHT: Final = re.compile(rb"q=0?(?:\.0*)?")
_MEDIA_TYPE: Final = re.compile(rb"[\w.+-]+/[\w.+-]+(?:%b%b)*" % (_SEMICOLON, _PARAMETER))
_MEDIA_RANGE: Final = re.compile(
    rb"(?:\*|\*/\*|[\w.+-]+/(?:\*|[\w.+-]+))(?:%b(?:%b|%b))*" % (_SEMICOLON, _PARAMETER, _WEIGHT)
)
"""The JDK's clients send `*` as well."""
_HOST: Final = re.compile(rb"(?:[\w.-]*|\[([0-9A-Fa-f:.]+)(?:%[0-9A-Za-z]+)?\])(?::([0-9]{1,5}))?")


def has_plain_fields(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a NameNode gives its usual answer to a read with these fields.

    It answers 400 or 500 to `Accept: text/xml`, and to a malformed `Accept`, `Content-Type` or `Host` (3.4.1 and 3.5.0;
    tests/contracts/test_odd_fields.py). It ignores what other fields say, except credentials, `Origin` and a body.
    """
    content_types = list[bytes]()
    for name, value in fields:
        match name.lower():
            case b"accept" if not _accepts_json(value):
                return False
            case b"content-type":
                content_types.append(value)
            case b"host" if not _is_plain_host(value):
                return False
            case _:
                pass
    return not content_types or _MEDIA_TYPE.fullmatch(b",".join(content_types).lower()) is not None


def _accepts_json(value: bytes) -> bool:
    """Whether an `Accept` header allows JSON (RFC 9110, section 12.5.1); False beyond `_MAX_MEDIA_RANGES`."""
    if not value:
        return True
    if value.count(b",") + value.count(b";") > _MAX_MEDIA_RANGES:
        return False
    accepts = False
    for element in value.lower().split(b","):
        if not _MEDIA_RANGE.fullmatch(element.strip()):
            return False
        media_range, *parameters = (part.strip() for part in element.split(b";"))
        accepts |= media_range in _JSON_RANGES and not any(map(_OF_NO_WEIGHT.fullmatch, parameters))
    return accepts


def _is_plain_host(value: bytes) -> bool:
    """Whether the value of `Host` has a plain name or a valid IPv6 address, and no port or a valid one."""
    match = _HOST.fullmatch(value)
    if match is None:
        return False
    address, port = match.groups(b"")
    try:
        IPv6Address(address.decode("ascii") or "::")
    except AddressValueError:
        return False
    return not port or 0 < int(port) <= MAX_PORT


def has_form(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a NameNode may read parameters of a PUT or POST from its body as well, such as `doas`."""
    values = {name.lower(): value.lower() for name, value in fields}
    return b"form" in values.get(b"content-type", b"") and values.get(b"content-length") != b"0"
