"""The advisor's twins: a line parser in plain Python, and the proxy's own cache in virtual time."""

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from nncache.advisor.footprints import EVENTS, SOURCE
from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Cacheable, Denied, Fetch, OpenFile, Outcome, Serve, Unchanged
from nncache.cache.entries import EntryKind
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import StoredReply
from nncache.cache.settings import CacheSettings
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.events import Append, Close, Create, Event, MetadataUpdate, Rename, Truncate, Unlink
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import InvalidPathError, ancestors, canonical, parent

# -- one line ----------------------------------------------------------------------------------------

_LINE = re.compile(
    r"(?s)(.*?)allowed=(true|false)\tugi=([^\t]*)\tip=([^\t]*)\tcmd=([^\t]*)\tsrc=(.*?)\tdst=(.*?)"
    r"\tperm=([^\t]*)(?:\ttrackingId=([^\t]*))?\tproto=([^\t]*)(?:\tcallerContext=(.*))?"
)
_STAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,]([0-9]{1,3})[0-9]*)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_CODE = r"\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPED = re.compile(rf'(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|{_CODE})*')
UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """A line's fields without escapes; None for "null" or a missing field."""

    at: int | None  # ms
    allowed: bool
    ugi: str
    ip: str | None
    cmd: str
    src: str | None
    dst: str | None
    perm: str | None
    trackingId: str | None  # noqa: N815 - the field's own spelling
    proto: str
    callerContext: str | None  # noqa: N815 - the field's own spelling


def read_line(raw: bytes, zone: ZoneInfo = UTC) -> AuditLine | None:
    """Return the parsed line; None if it is not an audit log line."""
    line = raw.decode("utf-8", "replace").rstrip("\r\n")
    message, outer = line, None
    if line.startswith("{"):
        message, outer = _unwrapped(line)
    if "#011ugi=" in message and "\tugi=" not in message:
        message = message.replace("#011", "\t")
    found = _LINE.match(message)
    if found is None:
        return None
    head, allowed, ugi, ip, cmd, src, dst, perm, tracking, proto, context = found.groups()
    return AuditLine(
        at=_moment(head if _STAMP.search(head) else outer or "", zone),
        allowed=allowed == "true",
        ugi=ugi,
        ip=None if ip == "null" else ip,
        cmd=cmd,
        src=_unescaped_or_none(src),
        dst=_unescaped_or_none(dst),
        perm=None if perm == "null" else perm,
        trackingId=tracking or None,
        proto=proto,
        callerContext=_unescaped_or_none(context) if context else None,
    )


_JSON_TEXT = rf'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|{_CODE})*'
_JSON_MESSAGE = re.compile(
    rf'"(?:message|log|msg)"[ \t\n\x0b\f\r]*:[ \t\n\x0b\f\r]*"(?=[^"]*allowed=)({_JSON_TEXT})"'
)
_JSON_TIME = re.compile(r'"(?:@timestamp|timestamp|time)"[ \t\n\x0b\f\r]*:[ \t\n\x0b\f\r]*"([^"\\]*)"')


def _unwrapped(line: str) -> tuple[str, str | None]:
    message, time = _JSON_MESSAGE.search(line), _JSON_TIME.search(line)
    return _unescaped(message[1]).rstrip("\r\n") if message else "", time[1] if time else None


def _unescaped(text: str) -> str:
    return str(json.loads(f'"{text}"')).encode("utf-8", "replace").decode()


def _unescaped_or_none(text: str) -> str | None:
    if text == "null":
        return None
    if "\\" not in text or _ESCAPED.fullmatch(text) is None:
        return text
    return _unescaped(text)


def _moment(text: str, zone: ZoneInfo) -> int | None:
    found = _STAMP.search(text)
    if found is None:
        return None
    day, time, fraction, offset = found.groups()
    if day[2] == "/":
        day = "20" + day.replace("/", "-")
    try:
        at = dt.datetime.fromisoformat(f"{day}T{time}")
        if offset is None or offset == "Z":
            at = at.replace(tzinfo=zone if offset is None else dt.UTC)
        else:
            hours, minutes = int(offset[1:3]), int(offset[-2:])
            if hours > 18 or minutes > 59 or (hours == 18 and minutes):
                return None
            sign = -1 if offset[0] == "-" else 1
            at = at.replace(tzinfo=dt.timezone(sign * dt.timedelta(hours=hours, minutes=minutes)))
        return round(at.timestamp()) * 1000 + int((fraction or "").ljust(3, "0"))
    except (ValueError, OverflowError):
        return None


# -- the proxy's own cache -----------------------------------------------------------------------------


class Happened(NamedTuple):
    """One line, reduced to the fields that matter to a proxy."""

    at: int  # ms
    order: int  # at the same moment: changes, reads, refused reads, OPENs
    cmd: str
    path: str
    destination: str
    user: str
    is_web: bool
    is_allowed: bool


def happened(lines: Iterable[str]) -> list[Happened]:
    """Return the reads and changes, in order."""
    found: list[Happened] = []
    for text in lines:
        line = read_line(text.encode())
        assert line is not None, text
        assert line.at is not None
        cmd = line.cmd.partition(" ")[0]
        is_web = line.proto == "webhdfs"
        is_read = cmd == "getfileinfo"
        if not is_read and not (cmd == "open" and is_web) and not (cmd in EVENTS and line.allowed):
            continue
        order = 0 if cmd in EVENTS else 3 if not is_read else 1 if line.allowed else 2
        user = line.ugi.partition(" ")[0]
        path, destination = (_canonical(each) for each in (line.src, line.dst))
        found.append(Happened(line.at, order, cmd, path, destination, user, is_web, line.allowed))
    found.sort()
    return found


def _canonical(path: str | None) -> str:
    try:
        return canonical(path or "")
    except InvalidPathError:
        return ""


class Counts(NamedTuple):
    """The counts of a replay."""

    reads: int
    hits: int
    calls: int


class CacheTwin:
    """Answers reads with the product's cache; like the replay, it knows a path's kind from the log alone.

    With `is_low`, an unknown path is a file, a file without a mark's name is open for ten minutes, and a directory
    that is created did not exist; otherwise the opposite of each.
    """

    def __init__(self, globs: tuple[str, ...], *, is_low: bool) -> None:
        self._is_low = is_low
        self._globs = GlobSet({glob: glob for glob in globs})
        self._cache = MetadataCache(CacheSettings(glob=tuple(globs)))
        self._cache.open_stream(1)
        self._kinds: dict[str, EntryKind | None] = {}
        self._is_gone_below: dict[str, bool] = {}  # by a path; applies to all below it
        self._versions: Counter[str] = Counter()  # version of a path's status
        self._open_until: dict[str, float] = {}
        self._tx = 0
        self.counts: Counter[tuple[str, str]] = Counter()

    def is_matched(self, path: str) -> bool:
        """Return whether a path may be cached."""
        return self._globs.matches(path)

    def read(self, path: str, user: str, now: float, *, is_allowed: bool) -> tuple[bool, int]:
        """Return whether the read is a hit, and its number of calls."""
        self._cache.cover(now, self._tx)
        decision = self._cache.lookup(path, Caller(user), now, may_wait=False)
        if isinstance(decision, Serve):
            return True, 0
        if not isinstance(decision, Fetch):
            return False, 1
        outcome, calls = self._asked(decision, path, now, is_allowed=is_allowed)
        self._cache.conclude(decision.ticket, outcome)
        return False, calls

    def _asked(self, decision: Fetch, path: str, now: float, *, is_allowed: bool) -> tuple[Outcome, int]:
        if not is_allowed:
            return Denied(), 1
        kind = self._kind(path)
        reply = StoredReply(200, (), f"{kind} {path} {self._versions[path]}".encode())
        if kind is not EntryKind.FILE:
            return Cacheable(reply=reply, kind=kind, replied_at=now, term=1), 1
        if decision.ticket.finds_unchanged(reply):
            return Unchanged(reply=reply, replied_at=now, term=1), 1
        if now < self._open_until.get(path, 0.0):
            return OpenFile(replied_at=now, term=1), 2
        return Cacheable(reply=reply, kind=kind, replied_at=now, term=1), 2

    def _known(self, path: str) -> EntryKind | None:
        """Return a path's kind, as far as the log shows it."""
        if path in self._kinds:
            return self._kinds[path]
        above = parent(path)
        while above is not None:
            if above in self._is_gone_below:
                return EntryKind.MISSING if self._is_gone_below[above] else None
            above = parent(above)
        return None

    def _kind(self, path: str) -> EntryKind:
        return self._known(path) or (EntryKind.FILE if self._is_low else EntryKind.MISSING)

    def opened(self, path: str) -> None:
        """Record an OPEN: the file is complete."""
        self._open_until.pop(path, None)

    def change(self, one: Happened) -> None:
        """Apply a command's changes."""
        now = one.at / 1000
        is_there = self._known(one.path) in {None, EntryKind.DIRECTORY}
        if one.cmd == "mkdirs" and is_there and not self._is_low:
            self._made(one.path, EntryKind.DIRECTORY)
            return
        for event in EVENTS[one.cmd]:
            for change in changes_of_event(at_paths(event, one)):
                self._tx += 1
                self._cache.apply(change, now, self._tx)
        self._note(one, now)

    def _note(self, one: Happened, now: float) -> None:
        if one.cmd not in {"setXAttr", "removeXAttr"}:
            self._versions[one.path] += 1
            self._versions[one.destination] += 1
        match one.cmd:
            case "create" | "append":
                if one.cmd == "create":
                    self._changed_below(one.path, is_gone=False)
                self._made(one.path, EntryKind.FILE)
                is_marker = one.path.rpartition("/")[2].startswith("_")
                self._open_until[one.path] = now + (600 if self._is_low and not is_marker else 0)
            case "mkdirs":
                self._made(one.path, EntryKind.DIRECTORY)
            case "delete":
                self._changed_below(one.path, is_gone=True)
            case "rename":
                self._changed_below(one.path, is_gone=True)
                self._changed_below(one.destination, is_gone=False)
                self._made(one.destination, None)
            case _:
                pass

    def _made(self, path: str, kind: EntryKind | None) -> None:
        self._kinds[path] = kind
        above = parent(path)
        if above is not None and self._known(above) is EntryKind.MISSING:
            self._kinds[above] = EntryKind.DIRECTORY

    def _changed_below(self, path: str, *, is_gone: bool) -> None:
        for table in (self._kinds, self._open_until, self._is_gone_below):
            for each in [each for each in table if each == path or each.startswith(f"{path}/")]:
                del table[each]
        self._is_gone_below[path] = is_gone
        self._kinds[path] = EntryKind.MISSING if is_gone else None


def at_paths(event: Event, one: Happened) -> Event:
    """Return the event with its paths in place of the placeholders."""

    def place(placeholder: str) -> str:
        return one.path if placeholder == SOURCE else one.destination

    match event:
        case Rename(source, destination):
            return Rename(place(source), place(destination))
        case Create(kind=kind, path=path):
            return Create(kind=kind, path=place(path))
        case MetadataUpdate(path=path, kind=kind, xattrs=xattrs):
            return MetadataUpdate(path=place(path), kind=kind, xattrs=xattrs)
        case Close(path) | Append(path) | Truncate(path) | Unlink(path):
            return type(event)(place(path))


def replayed_by_cache(
    found: Iterable[Happened], glob: str | tuple[str, ...], *, is_web: bool, is_low: bool
) -> Counts:
    """Replay all reads of matching paths over one protocol, in one cache."""
    twin = CacheTwin((glob,) if isinstance(glob, str) else glob, is_low=is_low)
    ordered = list(_without_opens(found))
    asked = {one.path for one in ordered if one.order}
    asked = {path for path in asked if twin.is_matched(path)}
    near = asked | {above for path in asked for above in ancestors(path)}
    reads = hits = calls = 0
    for one in ordered:
        if one.order == 0:
            around = (
                one.path,
                parent(one.path),
                one.destination,
                parent(one.destination) if one.destination else None,
            )
            if not near.isdisjoint(around):  # all others affect no path that is read
                twin.change(one)
        elif one.cmd == "open":
            twin.opened(one.path)
        elif one.is_web == is_web and one.path in asked:
            is_hit, number = twin.read(one.path, one.user, one.at / 1000, is_allowed=one.is_allowed)
            reads, hits, calls = reads + 1, hits + is_hit, calls + number
    return Counts(reads, hits, calls)


def _without_opens(found: Iterable[Happened]) -> Iterator[Happened]:
    """Yield all but the status reads that an OPEN over WebHDFS makes itself."""
    ordered = list(found)
    last: dict[tuple[str, str], int] = {}
    taken: set[int] = set()
    for number, one in enumerate(ordered):
        key = one.path, one.user
        if one.is_web and one.cmd == "getfileinfo" and one.is_allowed:
            last[key] = number
        elif one.cmd == "open" and key in last and ordered[last[key]].at >= one.at - 100:
            taken.add(last.pop(key))
    return (one for number, one in enumerate(ordered) if number not in taken)
