"""Contents of the channel's znodes: records, definitions, events."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.event_json import EventJsonError, decode_event, encode_event
from nncache.invalidation.channel.published_filters import (
    PublishedFilter,
    encode_published_filter,
    parse_published_filter,
)
from nncache.invalidation.channel.records import (
    CacheRecord,
    FilterRecord,
    encode_cache_record,
    encode_filter_record,
    parse_cache_record,
    parse_filter_record,
)
from nncache.invalidation.channel.znodes import MAX_TXID, parse_txid
from nncache.invalidation.errors import CorruptZnodeError
from tests.hostile.fuzzing.target import Target, hold, text_of

_RECORD: Final = "/r/ns/.cache/12"
_DEFINITION: Final = "/r/ns/.filters/jobs"


def check_znode(
    path: str, parse: Callable[[str, bytes], Any], encode: Callable[[Any], bytes], data: bytes
) -> None:
    """Check the contents of a znode."""
    try:
        found = parse(path, data)
    except CorruptZnodeError as error:
        hold(str(error).startswith(path), "an error that names no znode")
        return
    hold(parse(path, encode(found)) == found, "what is read does not come back")
    match found:
        case FilterRecord(link=link) | CacheRecord(link=link):
            hold(link.previous < link.txid == 12, "a record of another place")
        case PublishedFilter(name=name):
            hold(name == "jobs", "a filter of another name")


def check_event(data: bytes) -> None:
    """Check an event as JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    try:
        event = decode_event(value)
    except EventJsonError:
        return
    hold(decode_event(encode_event(event)) == event, "an event does not come back")
    changes_of_event(event)


def check_txid(data: bytes) -> None:
    """Check a number in a znode's name or contents."""
    number = parse_txid(data)
    hold(parse_txid(text_of(data)) == number, "the bytes of a text say something else")
    if number is not None:
        hold(0 <= number <= MAX_TXID and str(number).encode() == data, "a number in another spelling")


_LINK: Final = b'"version":1,"chain":"c1","previous":10,"txid":12'

CHANNEL: Final = (
    Target(
        name="filter-record",
        invariant="a record or CorruptZnodeError that names the znode; what is read comes back",
        check=partial(check_znode, _RECORD, parse_filter_record, encode_filter_record),
        seeds=(
            b"{" + _LINK + b',"batches":[{"txid":11,"events":[{"type":"UNLINK","path":"/a"}]}]}',
            b"{" + _LINK + b',"dropped":{"first":11,"last":12,"reason":"full"}}',
            b"{"
            + _LINK
            + b',"batches":[{"txid":12,"events":[{"type":"CREATE","iNodeType":"FILE","path":"/a",'
            b'"perms":"644"},{"type":"METADATA","metadataType":"XATTRS","path":"/a","xAttrs":[{"nameSpace":"USER",'
            b'"name":"n","value":"AA=="}]}]}]}',
            b"{" + _LINK + b',"batches":[{"txid":12,"events":[{"x":' + b"[" * 1500,
        ),
        modules=("nncache.invalidation.channel.records", "nncache.hadoop.event_json"),
        max_bytes=4096,
    ),
    Target(
        name="cache-record",
        invariant="a record or CorruptZnodeError that names the znode; what is read comes back",
        check=partial(check_znode, _RECORD, parse_cache_record, encode_cache_record),
        seeds=(
            b"{" + _LINK + b',"generation":3,"changes":[[11,"appeared","/a"],[12,"moved","/a","/b"]]}',
            b"{" + _LINK + b',"generation":3,"changes":[[11,"everything","why"],[12,"subtree","/"]]}',
            b"{" + _LINK + b',"generation":9223372036854775807,"dropped":{"first":0,"last":12,"reason":""}}',
            b"{" + _LINK + b',"generation":3,"changes":[[12,"touched","//a/"]]}',
            b"[" * 3000,
        ),
        modules=("nncache.invalidation.channel.records", "nncache.hadoop.paths"),
        max_bytes=4096,
    ),
    Target(
        name="published-filter",
        invariant="a filter or CorruptZnodeError that names the znode; what is read comes back",
        check=partial(check_znode, _DEFINITION, parse_published_filter, encode_published_filter),
        seeds=(
            b'{"version":1,"id":"i1","pathGlob":"/a/*","since":5,"owner":"alice","allowedSubscribers":["bob"]}',
            b'{"version":1,"id":"","pathGlob":"/[","since":-1,"owner":"","allowedSubscribers":[]}',
            b'{"x":' + b"[" * 1400,
        ),
        modules=("nncache.invalidation.channel.published_filters", "nncache.hadoop.glob_syntax"),
        max_bytes=1536,
    ),
    Target(
        name="event-json",
        invariant="an event or EventJsonError; what is read comes back, and says what it makes stale",
        check=check_event,
        seeds=(
            b'{"type":"CREATE","iNodeType":"DIRECTORY","path":"/a","perms":"1777","overwrite":true}',
            b'{"type":"RENAME","srcPath":"/a","dstPath":"/b","timestamp":1}',
            (
                b'{"type":"METADATA","metadataType":"ACLS","path":"/a","acls":[{"scope":"ACCESS","type":"USER",'
                b'"name":"n","permission":"r-x"}]}'
            ),
            b'{"type":"TRUNCATE","path":"/a\\u0000b","fileSize":9223372036854775808}',
            b'{"type":"CLOSE","path":"rel","fileSize":1}',
            b'{"type":"APPEND","path":"/a","newBlock":false}',
        ),
        modules=("nncache.hadoop.event_json", "nncache.hadoop.changes"),
    ),
    Target(
        name="transaction-id",
        invariant="a number in its one spelling, or none",
        check=check_txid,
        seeds=(b"0", b"12", b"9223372036854775807", b"9223372036854775808", b"-1", b"012", b"\xb2"),
        modules=("nncache.invalidation.channel.znodes",),
        max_bytes=32,
    ),
)
