"""The path that the second step of a two-step write writes, by the reply to the first step.

The redirect decides the path, not the request: the NameNode writes its Location with Java's `URI.toASCIIString`
(`NamenodeWebHdfsMethods.redirectURI`, 3.4.1 and 3.5.0), which converts the URI to normalization form C. Before that,
invalid UTF-8 is decoded as U+FFFD and dot segments are resolved. With `noredirect=true` the JSON holds the URI without
this conversion, and the client's library may or may not apply it.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final

import msgspec

from nncache.hadoop.calls import ABSOLUTE_FORM, PREFIX, WebHdfsCall
from nncache.hadoop.effects import real_path
from nncache.hadoop.paths import InvalidPathError, canonical, decode_loosely, exceeds_limits, has_dot_segments
from nncache.hadoop.unreadable_json import UNREADABLE_JSON

_END_OF_PATH: Final = re.compile("[?#]")


class _Redirect(msgspec.Struct, frozen=True):
    location: str = msgspec.field(name="Location")


_DECODER: Final = msgspec.json.Decoder(_Redirect)


def second_step_paths(
    call: WebHdfsCall, headers: Iterable[tuple[bytes, bytes]], body: bytes | None
) -> tuple[str, ...]:
    """Return the paths, as events name them, of which the second step of a call may write one.

    There are several if the client decides. If the reply names no readable path, they are the request's path and its
    form C. Paths beyond the limits of HDFS, where nothing can be created, and aliases are omitted.
    """
    location = _location(headers, body)
    named = () if location is None else _forms(location)
    if not named and call.path is not None:
        named = (call.path, form_c(call.path))
    real = (real_path(path) for path in named)
    return tuple(dict.fromkeys(path for path in real if path is not None and not exceeds_limits(path)))


def form_c(text: str) -> str:
    """Return the normalization form C of a text.

    The marks after each letter are sorted first: `unicodedata.normalize` sorts them in quadratic time, but takes linear
    time if they are sorted already.
    """
    if text.isascii():
        return text
    apart = "".join(unicodedata.normalize("NFD", char) for char in text)
    runs = groupby(apart, key=lambda char: unicodedata.combining(char) != 0)
    ordered = (sorted(run, key=unicodedata.combining) if is_mark else run for is_mark, run in runs)
    return unicodedata.normalize("NFC", "".join(map("".join, ordered)))


def _location(headers: Iterable[tuple[bytes, bytes]], body: bytes | None) -> str | None:
    """Return the URL of the second step; None if the reply names none, or several."""
    found = [value for name, value in headers if name.lower() == b"location"]
    if found or body is None:
        return found[0].decode("utf-8", "surrogateescape") if len(found) == 1 else None
    try:
        return _DECODER.decode(body).location
    except UNREADABLE_JSON:
        return None


def _forms(url: str) -> tuple[str, ...]:
    """Return the paths that a URL may be read as: exactly one if it is ASCII, since it is normalized already."""
    absolute = ABSOLUTE_FORM.match(url)
    spelled = _END_OF_PATH.split(url[absolute.end() if absolute else 0 :], maxsplit=1)[0]
    if not spelled.startswith(PREFIX):
        return ()
    rest = spelled[len(PREFIX) :]
    paths = (_path(form) for form in dict.fromkeys((rest, form_c(rest))))
    return tuple(path for path in paths if path is not None)


def _path(spelled: str) -> str | None:
    try:
        path = canonical(decode_loosely(spelled))
    except InvalidPathError:
        return None
    return None if has_dot_segments(path) else path
