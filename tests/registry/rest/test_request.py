"""Parsing of requests to the registry."""

import pytest

from nncache.proxy.errors import ClientError, EntryNotFoundError
from nncache.registry.paths import MAX_ELEMENTS, MAX_PATH_CHARACTERS
from nncache.registry.rest import request as module
from nncache.registry.rest.request import (
    MAX_VALUE,
    MOST_RANGES,
    RegistryRequest,
    is_registry,
    prefers_html,
    read_registry_request,
)


def asked(target: str, *fields: tuple[bytes, bytes]) -> RegistryRequest:
    """Parse a target below the resource."""
    return read_registry_request(f"/v1/registry{target}", fields)


@pytest.mark.parametrize(
    "target", ["/v1/registry", "/v1/registry/", "/v1/registry?list", "/v1/registry/a/b?find=x"]
)
def test_the_resource_and_all_below(target: str) -> None:
    """The target is in origin-form."""
    assert is_registry(target)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/v1",
        "/v1/registryx",
        "/V1/registry",
        "http://h/v1/registry",
        "/webhdfs/v1/registry",
        "/v1/events",
    ],
)
def test_other_targets_are_none_of_it(target: str) -> None:
    """They are processed as without the registry."""
    assert not is_registry(target)


def test_a_record_is_the_default() -> None:
    """The record is that of the percent-decoded path."""
    plain = asked("/users/joe%20smith")
    assert (plain.path, plain.is_list, plain.is_recursive, plain.find) == (
        "/users/joe smith",
        False,
        False,
        None,
    )
    assert (plain.limit, plain.after, plain.is_prometheus, plain.is_html) == (1_000, "", False, False)
    assert not plain.reads_many
    assert asked("").path == asked("?list").path == "/"
    assert asked("/").path == "/"


@pytest.mark.parametrize(
    "target",
    [
        "/a" * (MAX_ELEMENTS + 1),
        "/" * 31_000,
        f"/{'a' * MAX_PATH_CHARACTERS}",
        f"/{'%C3%A9' * MAX_PATH_CHARACTERS}",
        "/a" * 31_000,
    ],
)
def test_no_entry_has_a_path_without_a_bound(target: str) -> None:
    """The reply is an immediate 404, and its message does not repeat the path."""
    with pytest.raises(EntryNotFoundError) as caught:
        asked(target)
    assert len(str(caught.value)) < 100


def test_a_path_is_read_in_its_one_spelling() -> None:
    """The bounds of paths are those of paths that can be created."""
    assert asked("//a/%62//").path == "/a/b"
    assert asked("/a" * MAX_ELEMENTS).path == "/a" * MAX_ELEMENTS
    longest = f"/{'a' * (MAX_PATH_CHARACTERS - 1)}"
    assert asked(longest).path == longest


def test_a_path_that_is_too_long_is_not_taken_to_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request costs no more than others, whatever its size."""
    decoded: list[int] = []

    def counted(text: str) -> str:
        decoded.append(len(text))
        return text

    monkeypatch.setattr(module, "percent_decode", counted)
    for target in ("/a" * 31_000, "/" * 62_000, "x" * 62_000):
        with pytest.raises(EntryNotFoundError):
            read_registry_request(f"/v1/registry/{target}", ())
    assert decoded == []


def test_the_value_of_a_parameter_has_a_bound() -> None:
    """A search compares the value with all records."""
    assert asked(f"?find={'x' * MAX_VALUE}").find == "x" * MAX_VALUE
    with pytest.raises(ClientError, match=r"find has 1,025 characters; at most 1,024 are allowed"):
        asked(f"?find={'x' * (MAX_VALUE + 1)}")


def test_lists_searches_and_targets() -> None:
    """Switches have an optional value; requests that read a subtree cost more."""
    assert asked("?list").is_list
    assert not asked("?list").reads_many
    assert asked("?list=true").is_list
    assert not asked("?list=false").is_list
    everything = asked("?recursive")
    assert everything.is_list
    assert everything.reads_many
    found = asked("/services?find=api%3Dorg.apache.hbase&limit=5&after=%2Fa&user.name=joe")
    assert (found.path, found.find, found.limit, found.after) == (
        "/services",
        "api=org.apache.hbase",
        5,
        "/a",
    )
    assert found.reads_many
    targets = asked("?format=prometheus")
    assert targets.is_prometheus
    assert targets.reads_many
    assert not asked("?format=json").is_prometheus


def test_a_browser_gets_a_page() -> None:
    """The target may select another format."""
    browser = (b"Accept", b"text/html,*/*;q=0.8")
    assert asked("/services", browser).is_html
    assert asked("?format=html").is_html
    assert not asked("?format=json", browser).is_html
    assert not asked("?format=prometheus", browser).is_html
    assert asked("?format=", browser).is_html
    assert asked("", browser).limit == 200
    assert asked("?limit=7", browser).limit == 7


@pytest.mark.parametrize(
    ("target", "depth"),
    [("", -1), ("?list", -1), ("/", 0), ("/a", 0), ("/a/", 1), ("/a/b", 1), ("//a%2Fb/", 2)],
)
def test_links_are_relative_to_a_directory(target: str, depth: int) -> None:
    """The directory is the part of the path before its last slash."""
    assert asked(target).depth == depth


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("?x=1", "'x' is no parameter here: there are list, recursive"),
        (f"?{'y' * 99}", "yyy...' is no parameter"),
        ("?list&list", "list is given more than once"),
        ("?list=1", "list: '1': must be true or false"),
        ("?recursive=yes", "recursive: 'yes'"),
        ("?format=xml", "format: 'xml': must be one of json, prometheus, html"),
        ("?limit=0", "limit: '0': must be a number from 1 to 1000"),
        ("?limit=1001", "limit: '1001'"),
        ("?limit=201&format=html", "limit: '201': must be a number from 1 to 200"),
        ("?limit=x", "limit: 'x'"),
        ("?limit=٣", "limit: '٣'"),
        (f"?limit={'9' * 99}", "limit"),
        ("/%zz", "cannot be read"),
        ("?find=%ff", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(target: str, part: str) -> None:
    """The error has the valid values."""
    with pytest.raises(ClientError) as caught:
        asked(target)
    assert part in str(caught.value)


CHROMIUM = (
    b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    b"application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    "accept",
    [
        CHROMIUM,
        b"text/html",
        b"TEXT/HTML ; q=0.5, application/json;q=0.4",
        b"text/*",
        b"text/*;q=0.2, application/*;q=0.1",
        b"text/html;level=1",
        b"*/*, application/json;q=0.9",
    ],
)
def test_a_page(accept: bytes) -> None:
    """The most specific range that matches a type gives its weight (RFC 9110, section 12.5.1)."""
    assert prefers_html(((b"Host", b"h"), (b"accept", accept)))


@pytest.mark.parametrize(
    "accept",
    [
        b"",
        b"*/*",
        b"application/json",
        b"application/json, text/html",
        b"text/html;q=0",
        b"text/html;q=0.5, */*",
        b"text/html;q=2",
        b"text/html;q=0.1234",
        b"text/*, text/html;q=0.1, application/json;q=0.2",
        b"image/png",
        b",;,q=1;",
    ],
)
def test_data(accept: bytes) -> None:
    """HTML needs a higher weight than JSON; without a weight it is one."""
    assert not prefers_html(((b"Accept", accept),))


def test_without_the_field_it_is_data() -> None:
    """Data is the default, since simple clients send no Accept field."""
    assert not prefers_html(())


def test_several_fields_are_one_list() -> None:
    """RFC 9110, section 5.3; an endless list is read only up to a bound."""
    assert prefers_html(((b"Accept", b"application/json;q=0.1"), (b"Accept", b"text/html")))
    assert not prefers_html(((b"Accept", b"image/png," * MOST_RANGES + b"text/html"),))
