"""The registry's entries as pages for a browser.

Records are not trusted. MarkupSafe escapes all their text, an address becomes a link only if its scheme is http or
https, and the page's policy allows only the page's own style. Links are relative, so that they work behind a gateway
that adds a path prefix.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final, TypeVar
from urllib.parse import quote

from markupsafe import Markup

from nncache.admin.status_page import digest_of, read_text
from nncache.registry import paths
from nncache.registry.addresses import split_uri
from nncache.registry.record import (
    YARN_ID,
    YARN_PERSISTENCE,
    Address,
    Endpoint,
    EntryStatus,
    RegistryEntry,
    ServiceRecord,
)

_T = TypeVar("_T")

CONTENT_TYPE: Final = b"text/html; charset=utf-8"

MOST_SHOWN: Final = 200
"""Endpoints, addresses of each, and attributes on a page, which counts the others."""

MOST_ADDRESSES: Final = 1_000
"""Addresses of all endpoints of a table, but at least one of each: a large record must not delay other clients."""

MOST_FIELDS: Final = 16
"""Fields of an address."""

IN_SHORT: Final = 5
"""Endpoints of a record in a list of records."""

MOST_CHARACTERS: Final = 2_048
"""Characters of a text; the rest is left out."""

_RESOURCE: Final = "registry"
_NONE: Final = "\N{EN DASH}"
_STYLE: Final = Markup(read_text("status.css") + read_text("registry.css"))  # noqa: S704 - our own files
_WEB: Final = re.compile(r"https?://[^\s\\\x00-\x20\x7f-\xa0\u2028\u2029]+", re.IGNORECASE)

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": f"default-src 'none'; style-src {digest_of(_STYLE)}; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}

_RECORD: Final = ("format=json", "This record as JSON")
_OTHERS: Final = (
    ("list&format=json", "Entries below as JSON"),
    ("recursive", "All records here and below"),
    ("format=prometheus", "Targets for Prometheus"),
)

_PAGE: Final = Markup(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the entry</a>
<header>
  <nav aria-label="Path"><ol>{crumbs}</ol></nav>
  <h1><bdi>{heading}</bdi></h1>
{lead}</header>
<main id="main" tabindex="-1">
{sections}
</main>
<footer><ul>{footer}</ul></footer>
</body>
</html>
"""
)
_SECTION: Final = Markup(
    '<section aria-labelledby="{id}"><h2 id="{id}">{title}{count}</h2>\n{content}\n</section>'
)
_FIND: Final = Markup(
    '<form method="get"><div><label for="find">Records here and below with an endpoint whose FIELD=VALUE is'
    "</label>"
    '<input id="find" name="find" required pattern="[^=]+=.*" value="{value}" '
    'placeholder="api=org.apache.hadoop.webhdfs" autocomplete="off" spellcheck="false"></div>'
    "<button>Find</button></form>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLocation:
    """The location of a page.

    Attributes:
        path: the path in the registry.
        depth: depth below the resource of the directory to which links are relative; -1: the resource's parent.
    """

    path: str
    depth: int

    def to(self, path: str) -> str:
        """Return a relative reference to the page of an entry."""
        up = f"{_RESOURCE}/" if self.depth < 0 else "../" * self.depth or "./"
        return up + "".join(f"{quote(each, safe='', errors='replace')}/" for each in paths.elements_of(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryShown:
    """An entry and its contents.

    Attributes:
        status: its status.
        record: its record; None if it has none, or a broken one.
        fault: the fault of its record; "" without one.
        below: its child entries.
        is_more: whether there are more children after the last.
    """

    status: EntryStatus
    record: ServiceRecord | None
    fault: str = ""
    below: Sequence[EntryStatus] = ()
    is_more: bool = False


def entry_page(place: PageLocation, shown: EntryShown) -> bytes:
    """Return the page of an entry."""
    record, sections = shown.record, list[Markup]()
    if shown.fault:
        sections.append(
            _section("record", "Record", Markup('<p class="fault">{}</p>').format(_text(shown.fault)))
        )
    if record is not None:
        for id_, title, endpoints in (
            ("external", "External endpoints", record.external),
            ("internal", "Internal endpoints", record.internal),
        ):
            sections.append(_section(id_, title, _endpoints(endpoints), len(endpoints)))
    if shown.below:
        more = "" if not shown.is_more else _more(shown.below[-1].path)
        sections.append(
            _section("below", "Entries below", _table_of(place, shown.below) + more, shown.status.children)
        )
    sections.append(_section("about", "Entry", _about(shown)))
    sections.append(_section("search", "Search", _FIND.format(value="")))
    lead = None
    if record is not None:
        lead = record.description
    elif not shown.fault:
        lead = "No record is bound here."
    others = (*((_RECORD,) if record is not None else ()), *_OTHERS)
    return _page(place, paths.name_of(place.path) or "Service registry", lead, sections, others)


def found_page(
    place: PageLocation, entries: Sequence[RegistryEntry], *, query: str | None, is_more: bool
) -> bytes:
    """Return the page of the records found below an entry; `query` None: all records."""
    rows = Markup("").join(
        Markup(
            '<tr><td class="found" data-label="Path"><a class="name" href="{}"><bdi>{}</bdi></a></td>'
            '<td class="told" data-label="Description">{}</td><td data-label="External endpoints">{}</td></tr>\n'
        ).format(
            place.to(entry.path),
            entry.path,
            _text(entry.record.description or ""),
            _items(entry.record.external, _in_short, IN_SHORT),
        )
        for entry in entries
    )
    head = Markup("<thead><tr><th>Path</th><th>Description</th><th>External endpoints</th></tr></thead>")
    content = Markup("<table>{}<tbody>{}</tbody></table>").format(head, rows)
    if not entries:
        content = Markup('<p class="none">No record.</p>')
    if is_more:
        content += _more(entries[-1].path, _kept(query))
    sections = [
        _section("found", "Records", content, len(entries)),
        _section("search", "Search", _FIND.format(value=query or "")),
    ]
    lead = "All records here and below." if query is None else f"Records here and below with {query}."
    others = [(f"{_kept(query)}format=json", "These records as JSON")]
    return _page(place, paths.name_of(place.path) or "Service registry", lead, sections, others)


def problem_page(place: PageLocation, problem: str) -> bytes:
    """Return the page that shows why there is no entry to show."""
    content = Markup('<p class="fault">{}</p>').format(_text(problem))
    return _page(place, "Service registry", None, [_section("problem", "Nothing to show", content)])


def _page(
    place: PageLocation,
    heading: str,
    lead: str | None,
    sections: Iterable[Markup],
    others: Iterable[tuple[str, str]] = (),
) -> bytes:
    """Return a page; `others` are links to other formats of it, by their query and text."""
    elements = paths.elements_of(place.path)
    crumbs = [
        ("registry", "/"),
        *((each, paths.path_of(*elements[: at + 1])) for at, each in enumerate(elements)),
    ]
    page = _PAGE.format(
        title=f"{place.path} · service registry",
        style=_STYLE,
        crumbs=Markup("").join(
            Markup('<li><a href="{}"{}><bdi>{}</bdi></a></li>').format(
                place.to(path), Markup(' aria-current="page"') if path == place.path else "", _text(name)
            )
            for name, path in crumbs
        ),
        heading=_text(heading),
        lead=Markup('  <p class="lead"><bdi>{}</bdi></p>\n').format(_text(lead)) if lead else "",
        sections=Markup("\n").join(sections),
        footer=Markup("").join(
            Markup('<li><a href="?{}">{}</a></li>').format(query, text) for query, text in others
        ),
    )
    return page.encode("utf-8", "replace")


def _section(id_: str, title: str, content: Markup, count: int | None = None) -> Markup:
    shown = "" if count is None else Markup(' <span class="count">{}</span>').format(f"{count:,}")
    return _SECTION.format(id=f"h-{id_}", title=title, count=shown, content=content)


def _endpoints(endpoints: Sequence[Endpoint]) -> Markup:
    if not endpoints:
        return Markup('<p class="none">None.</p>')
    most = max(1, min(MOST_SHOWN, MOST_ADDRESSES // len(endpoints)))
    rows = Markup("").join(
        Markup(
            '<tr><td class="name api" data-label="API"><bdi>{}</bdi></td>'
            '<td class="protocol" data-label="Protocol"><bdi>{}</bdi></td>'
            '<td data-label="Addresses">{}</td></tr>\n'
        ).format(
            _text(endpoint.api),
            _text(endpoint.protocol),
            _items(endpoint.addresses, partial(_address, endpoint), most),
        )
        for endpoint in endpoints[:MOST_SHOWN]
    )
    head = Markup("<thead><tr><th>API</th><th>Protocol</th><th>Addresses</th></tr></thead>")
    return Markup("<table>{}<tbody>{}</tbody></table>{}").format(
        head, rows, _left_out(len(endpoints) - MOST_SHOWN)
    )


def _in_short(endpoint: Endpoint) -> Markup:
    first = _address(endpoint, endpoint.addresses[0]) if endpoint.addresses else Markup("")
    return Markup('{} <bdi class="soft">{}</bdi>').format(first, _text(endpoint.api))


def _address(endpoint: Endpoint, address: Address) -> Markup:
    """Return a plain URI or host:port as it is; any other address by its fields."""
    match dict(address):
        case {"uri": str(uri), **rest} if not rest:
            return _value(uri)
        case {"host": str(host), "port": str(port), **rest} if not rest:
            return _value(f"{host}:{port}")
        case fields:
            each = (
                Markup("{}: {}").format(_text(name), _value(value or ""))
                for name, value in islice(fields.items(), MOST_FIELDS)
            )
            return Markup("{} ({})").format(Markup(", ").join(each), _text(endpoint.address_type))


def _value(text: str) -> Markup:
    """Return a text; as a link if it is an http or https URL."""
    if len(text) > MOST_CHARACTERS or not _is_of_the_web(text):
        return Markup('<bdi class="name">{}</bdi>').format(_text(text))
    return Markup('<a class="name" href="{0}" rel="noopener noreferrer nofollow"><bdi>{0}</bdi></a>').format(
        text
    )


def _is_of_the_web(text: str) -> bool:
    if _WEB.fullmatch(text) is None:
        return False
    parts = split_uri(text)
    return parts is not None and bool(parts.hostname) and "@" not in parts.netloc


def _table_of(place: PageLocation, entries: Iterable[EntryStatus]) -> Markup:
    rows = Markup("").join(
        Markup(
            '<tr><td data-label="Name"><a class="name" href="{}"><bdi>{}</bdi></a></td>'
            '<td class="number" data-label="Entries below">{}</td>'
            '<td class="number" data-label="Record">{}</td><td class="number" data-label="Created">{}</td></tr>\n'
        ).format(
            place.to(each.path),
            paths.name_of(each.path),
            f"{each.children:,}" if each.children else _NONE,
            f"{each.size_bytes:,} bytes" if each.size_bytes else _NONE,
            _time(each.time_ms),
        )
        for each in entries
    )
    head = Markup(
        '<thead><tr><th>Name</th><th class="number">Entries below</th><th class="number">Record</th>'
        '<th class="number">Created</th></tr></thead>'
    )
    return Markup("<table>{}<tbody>{}</tbody></table>").format(head, rows)


def _about(shown: EntryShown) -> Markup:
    status, record = shown.status, shown.record
    facts = [("Created", _time(status.time_ms)), ("Version", f"{status.version:,}")]
    if record is not None:
        attributes = dict(record.attributes)
        facts += [("Persistence", attributes.pop(YARN_PERSISTENCE, "permanent"))]
        facts += [(name, attributes.pop(name)) for name in (YARN_ID,) if name in attributes]
        facts += sorted(attributes.items())[:MOST_SHOWN]
    rows = Markup("").join(
        Markup("<dt><bdi>{}</bdi></dt><dd><bdi>{}</bdi></dd>").format(_text(name), _text(value))
        for name, value in facts
    )
    left_out = _left_out(0 if record is None else len(record.attributes) - MOST_SHOWN)
    return Markup("<dl>{}</dl>{}").format(rows, left_out)


def _items(items: Sequence[_T], shown: Callable[[_T], Markup], most: int) -> Markup:
    """Return a list of the first `most` items, and the number of the others."""
    rows = Markup("").join(Markup("<li>{}</li>").format(shown(each)) for each in items[:most])
    return Markup("<ul>{}</ul>{}").format(rows, _left_out(len(items) - most))


def _left_out(count: int) -> Markup:
    """Return the note of how many items are left out; empty if none."""
    if count <= 0:
        return Markup("")
    return Markup('<p class="more">{} more are not shown here; the JSON has all.</p>').format(f"{count:,}")


def _kept(query: str | None) -> str:
    """Return the parameters that links to more results must repeat; `query` None: all records."""
    return "recursive&" if query is None else f"find={quote(query, safe='', errors='replace')}&"


def _more(after: str, kept: str = "") -> Markup:
    """Return a link to the results after this path; `kept` are further parameters."""
    return Markup('<p class="more"><a href="?{}after={}">Those behind them</a></p>').format(
        kept, quote(after, safe="", errors="replace")
    )


def _text(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _time(time_ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"
