r"""Parse usual lines of an audit log into events, by columns: one batch of lines at a time. (nncache/advisor/usual.py)

Needs only pyarrow and numpy: Spark's executors get it by value (`parse.py`). Fields are located in the bytes of all
lines together and cut out of them, so that no Python runs per line. A line with anything unusual (a backslash, a
non-ASCII byte, another prefix, fields at other positions) is left to the second pass of `parse.py`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Places: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

TAB, CR, BACKSLASH = b"\t\r\\"
VARIES = "[0-9a-fA-F]{8}-[0-9a-fA-F-]{13,}|[0-9a-f]{12,}|[0-9]+"
ROUTED = "(^|,)(clientIp|clientPort|clientId|clientCallId|realUser|proxyUserPort):[^,]*"
"""The parts of a caller context that a Router and the NameNode add, which differ from call to call."""
VARIABLE = "\x01"
"""As in `parse.py`; a test compares the results of both line by line."""

STAMP_DIGITS = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 22)
STAMP_MARKS = ((4, b"-"), (7, b"-"), (10, b" "), (13, b":"), (16, b":"), (19, b",."), (23, b" "))
STAMP_BYTES = 24
FIRST_FIELDS = (b"ugi=", b"ip=", b"cmd=", b"src=", b"dst=", b"perm=")
PROTO, CONTEXT, TRACKING = b"proto=", b"callerContext=", b"trackingId="
TABS = (7, 8, 9)
"""The possible numbers of tabs in a line: the tracking id and the caller context are optional."""
MOST_PATH = 8000
PADDING = 32

SCHEMA = (
    "at long, allowed boolean, user string, cmd string, src string, dst string, is_web boolean, framework string, "
    "skeleton string, detail string, day date, about string"
)


class Rules(NamedTuple):
    """Values that the driver passes to executors.

    Attributes:
        changes: commands that change a path.
        reads, changed, rest, raw: the classes of events.
        breaks, offsets: the offsets of the time zone in ms; offset n holds between breaks n - 1 and n, in local ms.
    """

    changes: frozenset[str]
    reads: str
    changed: str
    rest: str
    raw: str
    breaks: tuple[int, ...]
    offsets: tuple[int, ...]


class _Lines:
    """The bytes of a batch of lines."""

    def __init__(self, column: pa.Array) -> None:
        if column.offset:
            column = pa.concat_arrays([column.slice(0, 0), column])
        _, offsets, self.buffer = column.buffers()
        places = np.frombuffer(offsets, dtype=np.int32, count=len(column) + 1).astype(np.int64)
        size = int(places[-1])
        # Padded, so that a read after any place stays within the array.
        self.data: Bytes = np.zeros(size + PADDING, np.uint8)
        if size:
            self.data[:size] = np.frombuffer(self.buffer, dtype=np.uint8, count=size)
        # At each place, the eight bytes that begin there.
        self.words = np.ndarray((size + PADDING - 8,), "<u8", self.data, strides=(1,))
        self.starts, self.ends = places[:-1], places[1:].copy()
        is_windows = (self.ends > self.starts) & (self.data[self.ends - 1] == CR)
        self.ends[is_windows] -= 1

    def has(self, text: bytes, at: Places) -> Flags:
        """Whether the text is at these places; it may run into the next line."""
        found = np.ones(len(at), np.bool_)
        for begin in range(0, len(text), 8):
            part = text[begin : begin + 8]
            words = self.words[at + begin]
            if len(part) < 8:  # noqa: PLR2004 - bytes of a word
                words &= np.uint64((1 << 8 * len(part)) - 1)
            found &= words == np.uint64(int.from_bytes(part, "little"))
        return found

    def cut(self, starts: Places, ends: Places) -> pa.Array:
        """Return the texts from starts to ends, which must be in ascending order."""
        offsets = np.empty(2 * len(starts) + 1, np.int32)
        offsets[:-1:2], offsets[1::2], offsets[-1] = starts, ends, ends[-1] if len(ends) else 0
        buffers = [None, pa.py_buffer(offsets), self.buffer]
        pieces = pa.Array.from_buffers(pa.string(), 2 * len(starts), buffers)
        return pieces.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def events_of(batches: Iterable[pa.RecordBatch], rules: Rules) -> Iterator[pa.RecordBatch]:
    """Yield the events of usual lines in the columns of `SCHEMA`, and any other line itself as `detail`."""
    for batch in batches:
        if batch.num_rows:
            yield from _events(batch.column(0).cast(pa.binary()), rules)


def _events(column: pa.Array, rules: Rules) -> Iterator[pa.RecordBatch]:
    lines = _Lines(column)
    number = len(lines.starts)
    strange = np.flatnonzero(
        (lines.data[:-PADDING] - np.uint8(ord(" "))) > ord("~") - ord(" ")
    )  # a tab is one
    kinds = lines.data[strange]
    tabs = strange[kinds == TAB]
    others = np.concatenate((strange[kinds != TAB], np.flatnonzero(lines.data == BACKSLASH)))
    is_usual = np.ones(number, np.bool_)
    owners = np.searchsorted(lines.starts, others, "right") - 1
    is_usual[owners[others < lines.ends[owners]]] = False
    first = np.searchsorted(tabs, lines.starts)
    count = np.searchsorted(tabs, lines.ends) - first
    good = np.flatnonzero(is_usual & np.isin(count, TABS))
    if len(good):
        good, found = _usual(lines, good, first[good], count[good], tabs, rules)
        if found is not None:
            yield found
    is_raw = np.ones(number, np.bool_)
    is_raw[good] = False
    rest = column.take(pa.array(np.flatnonzero(is_raw)))
    if len(rest):
        nothing = pa.nulls(len(rest))
        texts = pa.Array.from_buffers(pa.string(), len(rest), rest.buffers())  # valid or not
        about = pa.array([rules.raw] * len(rest))
        names = [pair.split(" ")[0] for pair in SCHEMA.split(", ")]
        columns = {"detail": texts, "about": about}
        yield _batch({name: columns.get(name, nothing) for name in names})


_TYPES = {"long": pa.int64(), "boolean": pa.bool_(), "string": pa.string(), "date": pa.date32()}


def _batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    pairs = [pair.split(" ") for pair in SCHEMA.split(", ")]
    arrays = [
        columns[name].cast(_TYPES[kind]) if columns[name].type != _TYPES[kind] else columns[name]
        for name, kind in pairs
    ]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in pairs])


def _usual(
    lines: _Lines, good: Places, first: Places, count: Places, tabs: Places, rules: Rules
) -> tuple[Places, pa.RecordBatch | None]:
    """Return the indices of the usual lines, and their events."""
    starts, ends = lines.starts[good], lines.ends[good]
    tab = [tabs[first + place] for place in range(7)]
    is_usual = tab[0] - starts >= STAMP_BYTES + len(b"allowed=true")
    allowed = lines.has(b"allowed=true", tab[0] - 12)
    is_usual &= allowed | lines.has(b"allowed=false", tab[0] - 13)
    for place, name in enumerate(FIRST_FIELDS):
        is_usual &= lines.has(name, tab[place] + 1)
    tracked = (count > 7) & lines.has(TRACKING, tab[6] + 1)  # noqa: PLR2004 - seven tabs are before it
    last = 6 + tracked.astype(np.int64)  # the tab before proto
    has_context = count == last + 2
    is_usual &= (count == last + 1) | has_context
    at_proto = tabs[np.minimum(first + last, len(tabs) - 1)] + 1
    end_of_proto = np.where(has_context, tabs[np.minimum(first + last + 1, len(tabs) - 1)], ends)
    is_usual &= (end_of_proto - at_proto >= len(PROTO)) & lines.has(PROTO, at_proto)
    at_context = end_of_proto + 1
    is_usual &= ~has_context | ((ends - at_context >= len(CONTEXT)) & lines.has(CONTEXT, at_context))
    local, is_moment = _moments(lines, starts)
    kept = np.flatnonzero(is_usual & is_moment)
    if not len(kept):
        return good[kept], None
    ends, local, tab = ends[kept], local[kept], [each[kept] for each in tab]
    at_proto, end_of_proto, has_context = at_proto[kept] + len(PROTO), end_of_proto[kept], has_context[kept]
    is_web = (end_of_proto - at_proto == len(b"webhdfs")) & lines.has(b"webhdfs", at_proto)
    cmd = _first_words(lines.cut(tab[2] + 1 + len(b"cmd="), tab[3]))
    user = _first_words(lines.cut(tab[0] + 1 + len(b"ugi="), tab[1]))
    names = cmd.dictionary.to_pylist()
    of_cmd = cmd.indices.to_numpy()
    is_read = np.array([name == "getfileinfo" for name in names])[of_cmd]
    is_read |= np.array([name == "open" for name in names])[of_cmd] & is_web
    is_change = np.array([name in rules.changes for name in names])[of_cmd] & ~is_read
    chosen = np.flatnonzero(is_read | is_change)
    size = len(b"src=") + 1
    src, sources = _paths(lines.cut(tab[3][chosen] + size, tab[4][chosen]), chosen, len(kept))
    dst, _ = _paths(lines.cut(tab[4][chosen] + size, tab[5][chosen]), chosen, len(kept))
    codes = np.full(len(kept), -1, np.int64)
    codes[chosen] = sources.indices.to_numpy()
    skeletons = _skeletons(sources.dictionary)
    codes[~is_read] = -1
    skeleton = skeletons.take(pa.array(codes, mask=codes < 0))
    is_cacheable = ~skeleton.is_null().to_numpy(zero_copy_only=False)
    about = np.where(is_change, 1, np.where(is_cacheable, 0, 2))
    framework = _frameworks(lines, end_of_proto + 1 + len(CONTEXT), ends, np.flatnonzero(has_context))
    columns = {
        "at": pa.array(_in_utc(local, rules)),
        "allowed": pa.array(allowed[kept]),
        "user": user.dictionary.take(user.indices),
        "cmd": cmd.dictionary.take(cmd.indices),
        "src": src,
        "dst": dst,
        "is_web": pa.array(is_web),
        "framework": framework,
        "skeleton": skeleton,
        "detail": pa.nulls(len(kept)),
        "day": pa.array((local // 86_400_000).astype(np.int32), pa.date32()),
        "about": pa.array([rules.reads, rules.changed, rules.rest]).take(pa.array(about)),
    }
    # Events of the same class are written to the same file.
    return good[kept], _batch(columns).take(pa.array(np.argsort(about, kind="stable")))


def _first_words(texts: pa.Array) -> pa.DictionaryArray:
    found = texts.dictionary_encode()
    words = [text.partition(" ")[0] for text in found.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(found.indices, pa.array(words, pa.string()))


def _frameworks(lines: _Lines, begins: Places, ends: Places, having: Places) -> pa.Array:
    """Return the part of each context before the first "_"; null for a line without a context."""
    begins, stops = begins[having], ends[having]
    whole = lines.cut(begins, stops)
    if pc.any(pc.match_substring_regex(whole, "^(client|realUser:|proxyUserPort:)")).as_py():
        first = pc.replace_substring_regex(_own(whole), "(?s)_.*", "").dictionary_encode()
    else:  # no added part comes first, where a user name may contain "_"
        ends_of_first = pc.find_substring(whole, "_").to_numpy(zero_copy_only=False)
        first = lines.cut(
            begins, np.where(ends_of_first < 0, stops, begins + ends_of_first)
        ).dictionary_encode()
    own = _own(first.dictionary)
    is_null = (stops == begins) | ((stops - begins == len(b"null")) & lines.has(b"null", begins))
    codes = np.full(len(ends), -1, np.int64)
    codes[having] = np.where(is_null, -1, first.indices.to_numpy())
    return pc.if_else(pc.equal(own, ""), None, own).take(pa.array(codes, mask=codes < 0))


def _own(contexts: pa.Array) -> pa.Array:
    """Return contexts without the parts that servers add."""
    return pc.utf8_ltrim(pc.replace_substring_regex(contexts, ROUTED, ""), ",")


def _moments(lines: _Lines, starts: Places) -> tuple[Places, Flags]:
    """Return the local times at the starts of lines, in ms, and which of them are valid."""
    heads = np.stack([lines.words[starts + place] for place in range(0, STAMP_BYTES, 8)], axis=1)
    heads = heads.astype("<u8", copy=False).view(np.uint8)
    digits = heads - np.uint8(ord("0"))
    is_moment = (digits[:, STAMP_DIGITS] <= 9).all(axis=1)  # noqa: PLR2004 - a digit
    for place, marks in STAMP_MARKS:
        is_moment &= np.logical_or.reduce([heads[:, place] == mark for mark in marks])

    def number(*places: int) -> Places:
        value = digits[:, places[0]].astype(np.int64)
        for place in places[1:]:
            value = 10 * value + digits[:, place]
        return value

    year, month, day = number(0, 1, 2, 3), number(5, 6), number(8, 9)
    hour, minute, second, ms = number(11, 12), number(14, 15), number(17, 18), number(20, 21, 22)
    is_moment &= (year >= 1971) & (month >= 1) & (month <= 12) & (day >= 1)  # noqa: PLR2004 - a calendar
    is_moment &= (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004 - a clock
    months = 12 * (np.where(is_moment, year, 2000) - 1970) + np.where(is_moment, month, 1) - 1
    begin = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    is_moment &= day <= following - begin
    return ((((begin + day - 1) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms, is_moment


def _in_utc(local: Places, rules: Rules) -> Places:
    offsets = np.array(rules.offsets, np.int64)
    return local - offsets[np.searchsorted(np.array(rules.breaks, np.int64), local, "right")]


def _mended(texts: pa.Array, is_odd: pa.Array, mend: Callable[[str], str | None]) -> pa.Array:
    """Return texts with the odd ones, which are few, replaced by `mend`."""
    places = np.flatnonzero(is_odd.to_numpy(zero_copy_only=False))
    if not len(places):
        return texts
    all_of_them = texts.to_pylist()
    for place in places.tolist():
        all_of_them[place] = mend(all_of_them[place])
    return pa.array(all_of_them, pa.string())


def _paths(texts: pa.Array, chosen: Places, number: int) -> tuple[pa.Array, pa.DictionaryArray]:
    """Return the canonical path of each line, null if it has none, and those of the chosen lines as a dictionary."""
    found = texts.dictionary_encode()
    known = found.dictionary
    is_odd = pc.or_(pc.match_substring(known, "//"), pc.ends_with(known, "/"))
    known = _mended(known, pc.or_(is_odd, pc.equal(known, "null")), _canonical)
    codes = np.full(number, -1, np.int64)
    codes[chosen] = found.indices.to_numpy()
    return known.take(pa.array(codes, mask=codes < 0)), pa.DictionaryArray.from_arrays(found.indices, known)


def _canonical(path: str) -> str | None:
    if path == "null":
        return None
    if path == "/" or not path.startswith("/"):
        return path
    plain = re.sub("/{2,}", "/", path)
    return plain[:-1] if plain.endswith("/") and plain != "/" else plain


_NEVER_KEPT = re.compile(r"/\.{1,2}/|^/\.reserved|/\.snapshot/")


def _skeletons(paths: pa.Array) -> pa.Array:
    """Return the skeletons of paths, null for paths that no proxy can cache."""
    found = pc.replace_substring_regex(paths, VARIES, VARIABLE)
    begins = pc.and_(pc.starts_with(paths, "/"), pc.less_equal(pc.binary_length(paths), MOST_PATH))
    is_kept = np.array(pc.fill_null(begins, False).to_numpy(zero_copy_only=False))  # noqa: FBT003 - a value
    is_odd = pc.fill_null(pc.match_substring(paths, "/."), False)  # noqa: FBT003 - a value
    for place in np.flatnonzero(is_odd.to_numpy(zero_copy_only=False)).tolist():
        path = paths[place].as_py()
        is_kept[place] &= not _NEVER_KEPT.search(f"{path}/")
    return pc.if_else(pa.array(is_kept), found, pa.scalar(None, pa.string()))
