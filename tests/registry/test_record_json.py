"""Records as bytes; test_hadoop_client compares them with Hadoop's."""

import pytest

from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.record import Endpoint, ServiceRecord, host_port_endpoint, uri_endpoint
from nncache.registry.record_json import MAX_READ_BYTES, encode_record, parse_record

TYPE = '"type":"JSONServiceRecord"'
EMPTY = f'{{{TYPE},"external":[],"internal":[]}}'


def read(text: str) -> ServiceRecord:
    """Parse a text."""
    return parse_record("/p", text.encode())


def written(text: str) -> str:
    """Parse a text and encode it again."""
    return encode_record(read(text)).decode()


def test_a_whole_record() -> None:
    """Fields have the order of Hadoop's classes, and attributes are sorted by name."""
    record = ServiceRecord(
        description="tomcat",
        external=(uri_endpoint("http://api/", "REST", "http://lb/", "http://lb2/"),),
        internal=(host_port_endpoint("classpath:jmx", "rmi", ("rack4", 48551)),),
        attributes={"yarn:persistence": "container", "yarn:id": "container_1_0001_01_000001"},
    )
    text = (
        '{"type":"JSONServiceRecord","description":"tomcat","external":[{"api":"http://api/","addressType":"uri",'
        '"protocolType":"REST","addresses":[{"uri":"http://lb/"},{"uri":"http://lb2/"}]}],"internal":[{"api":'
        '"classpath:jmx","addressType":"host/port","protocolType":"rmi","addresses":[{"host":"rack4","port":"48551"}]}],'
        '"yarn:id":"container_1_0001_01_000001","yarn:persistence":"container"}'
    )
    assert encode_record(record).decode() == text
    assert read(text) == record
    assert written(text) == text


DESCRIBED = f'{{{TYPE},"description":"%s","external":[],"internal":[]}}'

AS_HADOOP = {
    f"{{{TYPE}}}": EMPTY,
    EMPTY: EMPTY,
    f" \n{{{TYPE}}} trailing": EMPTY,
    f'{{{TYPE},"description":null,"external":null,"internal":null}}': EMPTY,
    '{"description":"JSONServiceRecord"}': DESCRIBED % "JSONServiceRecord",
    f'{{{TYPE},"description":5}}': DESCRIBED % "5",
    f'{{{TYPE},"description":true}}': DESCRIBED % "true",
    f'{{{TYPE},"description":"a","description":"b"}}': DESCRIBED % "b",
    f'{{{TYPE},"x":1.50,"z":{{"a":[1,2],"b":null}},"y":false,"l":["q"]}}': (
        f'{{{EMPTY[1:-1]},"l":"[q]","x":"1.50","y":"false","z":"{{a=[1, 2], b=null}}"}}'
    ),
    f'{{{TYPE},"big":12345678901234567890123}}': f'{{{EMPTY[1:-1]},"big":"12345678901234567890123"}}',
    (
        f'{{{TYPE},"external":[{{"api":1,"addressType":"uri","protocolType":1.50,"unknown":[],'
        '"addresses":[{"p":1.50,"n":null,"b":true}]}]}'
    ): (
        f'{{{TYPE},"external":[{{"api":"1","addressType":"uri","protocolType":"1.50","addresses":'
        '[{"p":"1.50","n":null,"b":"true"}]}],"internal":[]}'
    ),
}


@pytest.mark.parametrize(("text", "again"), AS_HADOOP.items())
def test_what_is_read_as_hadoop_reads_it(text: str, again: str) -> None:
    """Each result was observed with Hadoop 3.5.0, except for the differences in the module's docstring."""
    assert written(text) == again


def test_strings_are_escaped_as_jackson_does() -> None:
    """Upper-case digits, surrogates as escapes, all other characters verbatim."""
    record = ServiceRecord(description='\0\x1f\x7f\x80\u2028é\U0001f600\ud800/<>&\\"\b\f\n\r\t')
    text = encode_record(record).decode()
    assert text == (
        f'{{{TYPE},"description":"\\u0000\\u001F\x7f\x80\u2028é\\uD83D\\uDE00\\uD800/<>&\\\\\\"\\b\\f\\n\\r\\t",'
        '"external":[],"internal":[]}'
    )
    assert read(text) == record


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "has no data"),
        (b"{}", "JSONServiceRecord is not in"),
        (b"10.0.0.7", "JSONServiceRecord is not in"),
    ],
)
def test_what_is_no_record_is_seen_without_parsing(data: bytes, part: str) -> None:
    """Znodes also contain host addresses and other data."""
    with pytest.raises(NoRecordError, match=part):
        parse_record("/p", data)


ENDPOINT = '{"api":"a","addressType":"uri","protocolType":"REST","addresses":[]}'
ENDPOINT_WITH_A_LIST = ENDPOINT.replace("[]", '[{"u":[]}]')


BROKEN = {
    "JSONServiceRecord": "no JSON",
    f"{{{TYPE}": "no JSON",
    f'{{{TYPE},"a":NaN}}': "NaN is no number",
    f'{{{TYPE},"a":"tab\there"}}': "no JSON",
    f"\ufeff{{{TYPE}}}": "no JSON",
    f'{{{TYPE},"a":{"[" * 100_000}}}': "no JSON",
    '["JSONServiceRecord"]': "is a list, not a JSON object",
    '"JSONServiceRecord"': "is a string, not a JSON object",
    "1 JSONServiceRecord": "is a number, not a JSON object",
    "true JSONServiceRecord": "is a boolean, not a JSON object",
    "null JSONServiceRecord": "is null, not a JSON object",
    '{"type":"Other JSONServiceRecord"}': "type is 'Other JSONServiceRecord'; it must be JSONServiceRecord",
    '{"type":null,"description":"JSONServiceRecord"}': "type is None",
    f'{{{TYPE},"description":[1]}}': "description is a list, not a string",
    f'{{{TYPE},"external":{{}}}}': "external is a JSON object, not a list",
    f'{{{TYPE},"external":""}}': "external is a string, not a list",
    f'{{{TYPE},"external":[null]}}': r"external\[0\] is null; an endpoint is a JSON object",
    f'{{{TYPE},"n":null}}': "the attribute 'n' is null",
    f'{{{TYPE},"internal":[{ENDPOINT},{ENDPOINT.replace("protocolType", "type")}]}}': r"\[1\].protocolType is missing",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("api", "API")}]}}': r"internal\[0\].api is missing",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("addressType", "x")}]}}': r"internal\[0\].addressType is missing",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("addresses", "x")}]}}': r"internal\[0\] has no addresses",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("[]", "[null]")}]}}': r"addresses\[0\] is null; an address is",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("[]", "[[1]]")}]}}': r"addresses\[0\] is a list; an address is",
    f'{{{TYPE},"internal":[{ENDPOINT.replace("[]", "{}")}]}}': "addresses is a JSON object, not a list",
    f'{{{TYPE},"internal":[{ENDPOINT_WITH_A_LIST}]}}': r"addresses\[0\].u is a list",
}


@pytest.mark.parametrize(("text", "part"), BROKEN.items())
def test_a_broken_record_names_the_field(text: str, part: str) -> None:
    """Everything that Hadoop's client refuses is refused."""
    with pytest.raises(InvalidRecordError, match=part) as caught:
        read(text)
    assert caught.value.path == "/p"


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    """Java does the same."""
    assert parse_record("/p", f'{{{TYPE},"description":"'.encode() + b'\xff"}').description == "\ufffd"


def test_an_address_may_hold_null_as_others_write_it() -> None:
    """The null is written back unchanged."""
    endpoint = Endpoint(api="a", protocol="p", address_type="x-y", addresses=({"a": None},))
    record = ServiceRecord(external=(endpoint,))
    assert parse_record("/p", encode_record(record)) == record


def test_a_record_that_is_too_large_is_not_parsed() -> None:
    """Its size is the error; other data is no record, whatever its size."""
    data = f'{{{TYPE},"description":"'.encode() + b"x" * MAX_READ_BYTES
    with pytest.raises(
        InvalidRecordError, match=f"the record has {len(data)} bytes; it is not read"
    ) as caught:
        parse_record("/p", data)
    assert caught.value.path == "/p"
    with pytest.raises(NoRecordError):
        parse_record("/p", b"x" * (MAX_READ_BYTES + 1))
