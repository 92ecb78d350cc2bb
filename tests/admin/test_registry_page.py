"""HTML pages of registry entries; a record is hostile input."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin

import pytest

from nncache.admin.registry_page import (
    HEADERS,
    IN_SHORT,
    MOST_ADDRESSES,
    MOST_CHARACTERS,
    MOST_FIELDS,
    MOST_SHOWN,
    EntryShown,
    PageLocation,
    entry_page,
    found_page,
    problem_page,
)
from nncache.admin.status_page import digest_of
from nncache.registry.record import (
    Endpoint,
    EntryStatus,
    RegistryEntry,
    ServiceRecord,
    host_port_endpoint,
    uri_endpoint,
)
from tests.registry.samples import WEBHDFS

HOST = "http://proxy"
SERVICES = PageLocation(path="/services", depth=0)
MARKUP = """</style></title>"'><script>owned()</script><img src=x onerror=owned()>{0}{x}%s&lt;"""


def status(path: str, **other: int) -> EntryStatus:
    """Return the status of an entry."""
    numbers = {"time_ms": 1_700_000_000_000, "size_bytes": 42, "children": 0, "version": 3} | other
    return EntryStatus(path=path, **numbers)


class Read(HTMLParser):
    """A page as a browser parses it: elements, links and text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.source = page.decode()
        self._is_style = False
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element."""
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]
        self._is_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        """Record the end of a style."""
        self._is_style = False

    def handle_data(self, data: str) -> None:
        """Append the text."""
        self.text += "" if self._is_style else data

    @property
    def other_links(self) -> list[str]:
        """The links from the record."""
        return [each for each in self.links if re.match(r"\w+:", each) and each != "data:,"]


def shown(
    record: ServiceRecord | None, *below: EntryStatus, place: PageLocation = SERVICES, **other: object
) -> Read:
    """Return the parsed page of an entry."""
    about = status(place.path, children=len(below))
    return Read(entry_page(place, EntryShown(status=about, record=record, below=below, **other)))  # type: ignore[arg-type] # by name


def test_a_record_is_shown() -> None:
    """The page has endpoints with addresses, attributes, and the entries below."""
    record = replace(
        WEBHDFS,
        internal=(host_port_endpoint("jmx", "rmi", ("h", 7)),),
        attributes={"yarn:id": "application_1", "yarn:persistence": "application", "a": "b"},
    )
    page = shown(record, status("/services/x", size_bytes=0), status("/services/y", children=1234))
    assert page.other_links == ["http://h:1/webhdfs/v1"]
    words = re.sub(r"\s+", " ", page.text)
    for each in (
        "a proxy", "org.apache.hadoop.webhdfs", "REST", "jmx", "h:7", "Created2023-11-14 22:13:20 UTC", "Version3",
        "Persistenceapplication", "yarn:idapplication_1", "ab", "External endpoints 1", "Entries below 2", "1,234",
    ):  # fmt: skip
        assert each in words
    assert page.source.count("<h1>") == 1


def test_an_entry_without_a_record_says_so() -> None:
    """A broken record is shown with its fault."""
    assert "No record is bound here." in shown(None).text
    assert "?format=json" not in shown(None).links
    assert "?format=json" in shown(WEBHDFS).links
    broken = shown(None, fault=f"no JSON {MARKUP}")
    assert "No record" not in broken.text
    assert MARKUP in broken.text


@pytest.mark.parametrize("text", [MARKUP, "javascript:owned()", "\ud800\x00\x1b[31m\u202e", "'\"`\n"])
def test_all_of_a_record_is_text(text: str) -> None:
    """No field of a record can add an element, an attribute or a link."""
    endpoint = Endpoint(api=text, protocol=text, address_type=text, addresses=({text: text, "x": None},))
    uri, host = uri_endpoint(text, text, text), Endpoint(
        api=text, protocol=text, address_type="host/port", addresses=({"host": text, "port": text},)
    )  # fmt: skip
    hostile = ServiceRecord(
        description=text,
        external=(endpoint, uri, host),
        internal=(endpoint, uri, host),
        attributes={text: text, "yarn:id": text, "yarn:persistence": text},
    )
    tame = ServiceRecord(
        description="d",
        external=(uri_endpoint("a", "p", "u"),) * 3,
        internal=(uri_endpoint("a", "p", "u"),) * 3,
    )
    element = text.replace("/", "")
    place = PageLocation(path=f"/{element}", depth=0)
    page, expected = (
        shown(record, status(f"{at.path}/{name}"), place=at, is_more=True)
        for record, at, name in ((hostile, place, element), (tame, SERVICES, "x"))
    )
    found, expected_found = (
        Read(found_page(at, [RegistryEntry(status(f"/{name}"), record)], query=query, is_more=True))
        for record, at, name, query in ((hostile, place, element, text), (tame, SERVICES, "x", "x=y"))
    )
    problem, expected_problem = Read(problem_page(place, text)), Read(problem_page(SERVICES, "p"))
    for each, like in ((page, expected), (found, expected_found), (problem, expected_problem)):
        assert each.elements == like.elements
        assert each.attributes == like.attributes
        assert each.other_links == []
        assert len(each.links) == len(like.links)


@pytest.mark.parametrize(
    "uri",
    ["http://h/", "https://h:1/a?b=c&d=%20#e", "HTTP://h", "http://[::1]:9870/x", "http://bücher.example/"],
)
def test_what_is_of_the_web_is_a_link(uri: str) -> None:
    """The link sends no referrer to the other site."""
    page = shown(ServiceRecord(external=(uri_endpoint("a", "p", uri),)))
    assert page.other_links == [uri]
    assert 'rel="noopener noreferrer nofollow"' in page.source


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)",
        "data:text/html,x",
        "vbscript:x", "file:///etc/passwd", "ftp://h/", "//h/x", "/x", "h:1", "http:h", "http://", "https:///x",
        "http://user@h/", "http://h\\@other/", "http://h/ x", "http://h/\x00", "http://[::1/", "http://h/\u2028",
        "hdfs://nn/", "view-source:http://h", "http://h/" + "x" * MOST_CHARACTERS,
    ],
)  # fmt: skip
def test_what_is_not_is_text(uri: str) -> None:
    """Other URIs, and ambiguous ones, are not links."""
    page = shown(ServiceRecord(external=(uri_endpoint("a", "p", uri),)))
    assert page.other_links == []
    assert uri[:9].strip().replace("\x00", "") in page.text


@pytest.mark.parametrize(
    ("base", "path", "depth"),
    [
        ("/v1/registry", "/", -1),
        ("/v1/registry/", "/", 0),
        ("/v1/registry/services", "/services", 0),
        ("/v1/registry/services/", "/services", 1),
        ("/gateway/hdfs/v1/registry/a/b", "/a/b", 1),
    ],
)
def test_links_lead_to_entries_wherever_the_page_is(base: str, path: str, depth: int) -> None:
    """The links are relative, so that a gateway may serve the page under another path."""
    child = f"{path.rstrip('/')}/x"
    page = shown(None, status(child), place=PageLocation(path=path, depth=depth))
    root = base[: base.index("/v1/registry")] + "/v1/registry"
    led = [unquote(urljoin(HOST + base, each)).rstrip("/") for each in page.links if each[0] not in "#?d"]
    above = ["/".join(path.split("/")[:count]).rstrip("/") for count in range(1, path.count("/") + 2)]
    expected = [f"{HOST}{root}{each}" for each in (*dict.fromkeys(above), child)]
    assert led == expected


def test_a_name_that_looks_like_a_scheme_is_a_path() -> None:
    """Hadoop's own client allows any name."""
    page = shown(None, status("/services/javascript:alert(1)"))
    assert page.other_links == []
    assert "./services/javascript%3Aalert%281%29/" in page.links


def test_what_exceeds_a_limit_is_left_out_and_counted() -> None:
    """Other clients' records have no limits."""
    many = Endpoint(
        api="a", protocol="p", address_type="uri", addresses=({"uri": "http://h/"},) * (MOST_SHOWN + 7)
    )
    page = shown(ServiceRecord(description="x" * 9_999, external=(many,)))
    assert len(page.other_links) == MOST_SHOWN
    assert "7 more are not shown here" in page.text
    assert page.text.count("x") < MOST_CHARACTERS + 99
    crowd = shown(
        ServiceRecord(external=(many,) * (MOST_SHOWN + 3), attributes={str(each): "" for each in range(999)})
    )
    assert len(crowd.other_links) == MOST_ADDRESSES // (MOST_SHOWN + 3) * MOST_SHOWN
    assert "3 more are not shown here" in crowd.text
    assert f"{999 - MOST_SHOWN} more are not shown here" in crowd.text
    wide = Endpoint(api="a", protocol="p", address_type="x-y", addresses=({str(n): "" for n in range(99)},))
    assert f"{MOST_FIELDS - 1}: " in shown(ServiceRecord(external=(wide,))).text
    assert f"{MOST_FIELDS}: " not in shown(ServiceRecord(external=(wide,))).text
    several = Read(
        found_page(
            SERVICES,
            [RegistryEntry(status("/a"), ServiceRecord(external=(many,) * 9))],
            query=None,
            is_more=False,
        )
    )
    assert len(several.other_links) == IN_SHORT


def test_a_moment_that_is_none_is_shown_as_it_is() -> None:
    """The page is shown nevertheless."""
    far = EntryShown(status=status("/services", time_ms=10**18), record=None)
    assert f"{10**18} ms" in Read(entry_page(SERVICES, far)).text


def test_what_was_found_is_listed_by_page() -> None:
    """A link leads to the next page."""
    without_address = ServiceRecord(external=(Endpoint(api="x", protocol="p", address_type="uri"),))
    entries = [
        RegistryEntry(status("/services/a"), WEBHDFS),
        RegistryEntry(status("/services/b"), without_address),
    ]
    page = Read(found_page(SERVICES, entries, query="api=org.apache.hadoop.webhdfs", is_more=True))
    assert page.other_links == ["http://h:1/webhdfs/v1"]
    assert "?find=api%3Dorg.apache.hadoop.webhdfs&after=%2Fservices%2Fb" in page.links
    assert "?find=api%3Dorg.apache.hadoop.webhdfs&format=json" in page.links
    everything = Read(found_page(SERVICES, entries, query=None, is_more=True))
    assert "?recursive&after=%2Fservices%2Fb" in everything.links
    whole = Read(found_page(SERVICES, entries, query=None, is_more=False))
    assert not any("after" in each for each in whole.links)
    assert "No record." in Read(found_page(SERVICES, [], query="a=b", is_more=False)).text
    assert "?after=%2Fservices%2Fa" in shown(None, status("/services/a"), is_more=True).links


def test_the_policy_allows_the_own_style_and_nothing_else() -> None:
    """It forbids scripts entirely."""
    page = shown(WEBHDFS, status("/services/a"))
    assert "script" not in page.elements
    (style,) = re.findall("<style>(.*?)</style>", page.source, re.DOTALL)
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith(f"default-src 'none'; style-src {digest_of(style)}; ")
    assert "script-src" not in policy
    assert not re.search(r"url\(|@import", style)
    assert not {"style", "onclick", "onload"} & page.attributes
