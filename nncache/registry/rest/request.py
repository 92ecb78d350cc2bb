"""Parses requests for the service registry.

Pure. `Accept`: RFC 9110, section 12.5.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.paths import InvalidPathError, percent_decode
from nncache.proxy.errors import ClientError, EntryNotFoundError
from nncache.proxy.messages import Headers
from nncache.registry.paths import MAX_ELEMENTS, MAX_PATH_CHARACTERS, elements_of, path_of

REGISTRY: Final = "/v1/registry"
"""The resource's path; a NameNode serves only `/webhdfs/v1` below a `v1`."""

KNOWN: Final = ("list", "recursive", "find", "limit", "after", "format", "user.name")
"""The accepted parameters; `user.name` has no effect, since every client may read."""

JSON: Final = "json"
PROMETHEUS: Final = "prometheus"
HTML: Final = "html"
FORMATS: Final = (JSON, PROMETHEUS, HTML)

MOST_ENTRIES: Final = 1_000
"""Limit of entries in one reply, and the default of `limit`."""

ON_A_PAGE: Final = 200
"""The same for an HTML page, which shows more of each entry and takes longer to render."""

MAX_VALUE: Final = 1_024
"""Limit of a parameter's value, in characters."""

MOST_RANGES: Final = 64
"""Media ranges of `Accept` that are read; further ones are ignored."""

_WEIGHT: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_HTML_RANGES: Final = ("text/html", "text/*", "*/*")
_JSON_RANGES: Final = ("application/json", "application/*", "*/*")

_MAX_DIGITS: Final = 6
_MAX_RAW_PATH: Final = 16 * MAX_PATH_CHARACTERS
"""Limit of the raw path: each character has up to four bytes, each percent-encoded."""
_MAX_QUOTED: Final = 64
"""Characters of an invalid value in an error message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryRequest:
    """A request for entries of the registry.

    Attributes:
        path: canonical, below the registry's root.
        is_list: return the entries below it instead of its record.
        is_recursive: return all descendants.
        find: FIELD=VALUE of an endpoint; None: every entry.
        limit: maximum number of entries.
        after: return entries after this path; "": from the first one.
        is_prometheus: return Prometheus targets instead of records.
        is_html: return a page for a browser.
        depth: depth below the resource of the directory to which a page's links are relative (RFC 3986, section 5.2);
            -1: the resource is in that directory.
    """

    path: str
    is_list: bool
    is_recursive: bool
    find: str | None
    limit: int
    after: str
    is_prometheus: bool
    is_html: bool
    depth: int

    @property
    def reads_many(self) -> bool:
        """Whether the request reads a whole subtree."""
        return self.is_recursive or self.find is not None or self.is_prometheus


def is_registry(target: str) -> bool:
    """Whether a raw target in origin-form (RFC 9112, section 3.2.1) is the resource or below it."""
    return target.startswith(REGISTRY) and target[len(REGISTRY) : len(REGISTRY) + 1] in {"", "?", "/"}


def read_registry_request(target: str, headers: Headers) -> RegistryRequest:
    """Parse a request.

    Raises:
        ClientError: the request is invalid; the message says what is allowed.
        EntryNotFoundError: no entry can have this path.
    """
    path, _, query = target.partition("?")
    given = _parameters(query)
    form = given.get("format") or (HTML if prefers_html(headers) else JSON)
    if form not in FORMATS:
        raise ClientError(f"format: {_quoted(form)}: must be one of {', '.join(FORMATS)}")
    most = ON_A_PAGE if form == HTML else MOST_ENTRIES
    limit = given.get("limit", str(most))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= _MAX_DIGITS and 0 < int(limit) <= most):
        raise ClientError(f"limit: {_quoted(limit)}: must be a number from 1 to {most}")
    is_record = not (
        form in {HTML, PROMETHEUS} or "find" in given or _is_on(given, "list") or _is_on(given, "recursive")
    )
    return RegistryRequest(
        path=_path(path[len(REGISTRY) :]),
        is_list=_is_on(given, "list") or _is_on(given, "recursive"),
        is_recursive=_is_on(given, "recursive"),
        find=given.get("find"),
        limit=MOST_ENTRIES if is_record else int(limit),  # all requests for a record wait for the same answer
        after="" if is_record else given.get("after", ""),
        is_prometheus=form == PROMETHEUS,
        is_html=form == HTML,
        depth=path[len(REGISTRY) :].count("/") - 1,
    )


def _path(raw: str) -> str:
    """Return the canonical path; the cost is bounded, however long the raw path is."""
    if len(raw) <= _MAX_RAW_PATH and raw.count("/") <= 2 * MAX_ELEMENTS:
        elements = elements_of(_decoded(raw))
        path = path_of(*elements)
        if len(path) <= MAX_PATH_CHARACTERS and len(elements) <= MAX_ELEMENTS:
            return path
    raise EntryNotFoundError(
        f"there is no such entry: a path has {MAX_PATH_CHARACTERS:,} characters and {MAX_ELEMENTS} elements at most"
    )


def _is_on(given: dict[str, str], name: str) -> bool:
    """Whether a switch is on: `?list`, `?list=true`."""
    value = given.get(name, "false")
    if value not in {"", "true", "false"}:
        raise ClientError(f"{name}: {_quoted(value)}: must be true or false")
    return value != "false"


def _parameters(query: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for parameter in filter(None, query.split("&")):
        key, _, value = (_decoded(part.replace("+", " ")) for part in parameter.partition("="))
        if key not in KNOWN:
            raise ClientError(f"{_quoted(key)} is no parameter here: there are {', '.join(KNOWN)}")
        if key in given:
            raise ClientError(f"{key} is given more than once")
        if len(value) > MAX_VALUE:
            raise ClientError(f"{key} has {len(value):,} characters; at most {MAX_VALUE:,} are allowed")
        given[key] = value
    return given


def _decoded(text: str) -> str:
    try:
        return percent_decode(text)
    except InvalidPathError as exc:
        raise ClientError(f"the request cannot be read: {exc}") from exc


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}...")


def prefers_html(headers: Headers) -> bool:
    """Whether HTML has a greater weight than JSON; False without `Accept`, or if the weights are equal."""
    weights = dict(_weights(headers))
    html, json = (
        next((weights[each] for each in names if each in weights), 0.0)
        for names in (_HTML_RANGES, _JSON_RANGES)
    )
    return html > json


def _weights(headers: Headers) -> Iterator[tuple[str, float]]:
    """Yield each media range with its weight; a range with an invalid weight is left out."""
    accept = b",".join(value for name, value in headers if name.lower() == b"accept")
    for each in accept.decode("latin-1").lower().split(",", MOST_RANGES)[:MOST_RANGES]:
        media, *parameters = (part.strip() for part in each.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        if _WEIGHT.fullmatch(weight):
            yield media, float(weight)
