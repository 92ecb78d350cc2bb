r"""A request as a line of an access log.

No byte of a request can end a line or a field. A bare field has harmless characters only, a quoted field visible ASCII
without quote and backslash. All other bytes are written as `\xHH`, as Apache and nginx do.
"""

import json
import random
import re
import time
from functools import lru_cache
from typing import Final

from nncache.hadoop.calls import parse_call
from nncache.net.trace_context import parse_traceparent
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.masking import masked, may_hold_secret

_NONE: Final = "-"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MAX_KEPT: Final = 512
"""The most characters of a memoized text: an address, a user, or a target that certainly holds no credential."""

_NOT_BARE: Final = re.compile(rb"[^A-Za-z0-9._@/+:~$-]|^-$")
_NOT_QUOTED: Final = re.compile(rb'[^!-~]|["\\]')


def combined(exchange: Exchange, weight: int, unix_time: float) -> bytes:
    """Return the line in Apache's combined format, followed by nncache's own fields."""
    request = f"{_quoted(exchange.method)} {_quoted(masked(exchange.target))}" if exchange.method else _NONE
    user, doas = caller_of(exchange)
    who = _bare(user) if doas is None else f"{_bare(user)},doas={_bare(doas)}"
    size = _NONE if exchange.body_bytes < 0 else exchange.body_bytes
    line = (
        f"{_bare(exchange.peer)} - {who} [{_common_time(int(unix_time))}] "
        f'"{request}" {exchange.status or _NONE} {size} "-" "-" '
        f"{exchange.result.value} {_bare(exchange.operation)} {_reason(exchange) or _NONE} "
        f"{exchange.duration_s:.6f} {weight} {shown_id(exchange.request_id)}\n"
    )
    return line.encode("ascii")


def json_line(exchange: Exchange, weight: int, unix_time: float) -> bytes:
    """Return the line as a JSON object in ASCII; null for unknown values."""
    return encode_line(
        {"log": "access", "time": rfc3339(unix_time)} | fields_of(exchange) | {"weight": weight}
    )


def fields_of(exchange: Exchange) -> dict[str, object]:
    """Return the fields of a request for a JSON object."""
    user, doas = caller_of(exchange)
    trace = parse_traceparent(exchange.traceparent)
    return {
        "address": exchange.peer,
        "caller": user,
        "doas": doas,
        "method": exchange.method,
        "target": masked(exchange.target),
        "operation": exchange.operation,
        "status": exchange.status or None,
        "bytes": None if exchange.body_bytes < 0 else exchange.body_bytes,
        "result": exchange.result.value,
        "reason": _reason(exchange),
        "duration_s": round(exchange.duration_s, 6),
        "request_id": shown_id(exchange.request_id),
        "trace_id": None if trace is None else trace.trace_id,
        "parent_id": None if trace is None else trace.parent_id,
    }


def encode_line(fields: dict[str, object]) -> bytes:
    """Return an object as one line of ASCII: no byte of a request is copied into it unescaped."""
    return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"


def rfc3339(unix_time: float) -> str:
    """Return a time in UTC as in RFC 3339, to the millisecond."""
    whole = int(unix_time)
    return f"{_seconds(whole)}.{int((unix_time - whole) * 1_000):03d}Z"


def caller_of(exchange: Exchange) -> tuple[str | None, str | None]:
    """Return the caller, and the user for whom it acts.

    A hit of the fast path has no claim, and a claim of two parts may be one name: in both cases the target is parsed.
    """
    claim = exchange.caller
    if "\0" in claim or (not claim and exchange.result is Result.HIT):
        target = exchange.target
        may_be_kept = len(target) <= _MAX_KEPT and target.isascii() and not may_hold_secret(target)
        return (_callers_again if may_be_kept else _callers_in)(target)
    if claim.startswith("doas="):
        return None, _encodable(claim.removeprefix("doas="))
    return _encodable(claim.removeprefix("user.name=") or None), None


def _callers_in(target: str) -> tuple[str | None, str | None]:
    claimed = parse_call("GET", target).arguments
    user, doas = (next(iter(claimed.get(key, ())), None) for key in ("user.name", "doas"))
    return _encodable(user), _encodable(doas)


_callers_again: Final = lru_cache(2_048)(_callers_in)


def _encodable(text: str | None) -> str | None:
    """Return a text without lone surrogates, which few JSON parsers accept."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _reason(exchange: Exchange) -> str | None:
    return None if exchange.why is None else exchange.why.value


def _bare(text: str | None) -> str:
    """Return a text as one bare field; `-` if there is no text. The text `-` itself is escaped."""
    if not text:
        return _NONE
    return (_bare_again if len(text) <= _MAX_KEPT else _escape_bare)(text)


def _escape_bare(text: str) -> str:
    return _NOT_BARE.sub(_escaped, text.encode("utf-8", "surrogatepass")).decode("ascii")


_bare_again: Final = lru_cache(1_024)(_escape_bare)


def _quoted(text: str) -> str:
    return _NOT_QUOTED.sub(_escaped, text.encode("utf-8", "surrogatepass")).decode("ascii")


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\x%02X" % found[0][0]


@lru_cache(2)
def _common_time(second: int) -> str:
    """Return a Unix time in the Common Log Format, independent of the locale."""
    at = time.gmtime(second)
    return (
        f"{at.tm_mday:02d}/{_MONTHS[at.tm_mon - 1]}/{at.tm_year}:"
        f"{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d} +0000"
    )


@lru_cache(2)
def _seconds(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


_HARMLESS: Final = re.compile(r"[A-Za-z0-9._:/+=@~-]{1,128}")


def shown_id(claimed: str) -> str:
    """Return the client's request id if it is safe to log, else a random id."""
    return claimed if _HARMLESS.fullmatch(claimed) else f"{random.getrandbits(64):016x}"
