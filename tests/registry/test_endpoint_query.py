"""Searches by a field of an endpoint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.record import Endpoint, ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record

HBASE = ServiceRecord(
    external=(uri_endpoint("classpath:org.apache.hbase", "REST", "http://h/"),),
    internal=(Endpoint(api="jmx", protocol="rmi", address_type="host/port"),),
)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("api=classpath:org.apache.hbase", True),
        ("api=classpath:org.apache", False),
        ("api=classpath:org.apache*", True),
        ("api=*", True),
        ("api=jmx", True),
        ("protocol=rmi", True),
        ("protocolType=REST", True),
        ("protocolType=rest", False),
        ("addressType=host/port", True),
        ("addressType=path", False),
        ("api=x=y", False),
    ],
)
def test_a_field_is_found_in_any_endpoint(text: str, *, is_found: bool) -> None:
    """The match is exact, or by a prefix."""
    query = EndpointQuery.parse(text)
    assert query.matches_record(HBASE) is is_found
    assert not is_found or query.is_possible_in(encode_record(HBASE))


@pytest.mark.parametrize("text", ["", "api", "api=", "addresses=x", "API=x", "=x"])
def test_what_is_no_search_is_refused_with_what_is(text: str) -> None:
    """The error has an example."""
    with pytest.raises(
        ValueError, match=r"must be FIELD=VALUE with FIELD one of api, protocol.*api=org.apache.hbase"
    ):
        EndpointQuery.parse(text)


def test_data_without_the_value_need_no_parsing() -> None:
    """That makes a search through all records fast."""
    assert not EndpointQuery("api", "org.apache.storm").is_possible_in(encode_record(HBASE))
    assert not EndpointQuery("api", "org.apache.storm*").is_possible_in(encode_record(HBASE))


@given(api=st.text(max_size=8), escaped=st.booleans())
def test_nothing_that_matches_is_passed_over(api: str, *, escaped: bool) -> None:
    """This also holds if JSON escapes the value."""
    data = encode_record(ServiceRecord(external=(uri_endpoint(api, "REST"),)))
    if escaped:
        data = data.replace(b'"REST"', b'"\\u0052EST"')
    for value in (api, f"{api}*"):
        assert EndpointQuery("api", value).is_possible_in(data)


@pytest.mark.parametrize("value", ["ü", 'a"b', "a\\b", "a\tb", "\U0001f600*"])
def test_a_value_that_json_may_spell_otherwise_is_parsed_for(value: str) -> None:
    """Its raw bytes prove nothing."""
    assert EndpointQuery("api", value).is_possible_in(b"")


def test_a_value_that_another_client_has_escaped_is_found() -> None:
    """JSON may escape any character; Hadoop does not, but other clients may."""
    data = encode_record(HBASE).replace(b"org.apache.hbase", b"org.apache.\\u0068base")
    assert EndpointQuery.parse("api=classpath:org.apache.hbase").is_possible_in(data)
