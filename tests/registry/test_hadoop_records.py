"""Hadoop's classes for records and names, and nncache's: the same bytes, names and refusals.

These tests need no ZooKeeper; test_hadoop_client uses one.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from nncache.registry import paths
from nncache.registry.errors import InvalidPathnameError, InvalidRecordError
from nncache.registry.names import element_of_user
from nncache.registry.record import RECORD_TYPE
from nncache.registry.record_json import encode_record, parse_record
from tests.contracts.hadoop_jvm import hadoop_jvm
from tests.registry.drawn import DRAWN, drawn_record, in_java, sorted_attributes
from tests.registry.test_record_json import AS_HADOOP, BROKEN


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """Yield org.apache.hadoop in a JVM."""
    with hadoop_jvm(Path("no-configuration")) as package:
        yield package


@pytest.fixture(scope="module")
def marshal(hadoop: Any) -> Any:
    """Return the marshaller, which converts Hadoop's records to bytes and back."""
    return hadoop.registry.client.binding.RegistryUtils.ServiceRecordMarshal()


def test_drawn_records_are_the_same_bytes(hadoop: Any, marshal: Any) -> None:
    """Either side writes the record; the other reads it and writes it again."""
    chance = random.Random(1)
    for number in range(DRAWN):
        record = drawn_record(chance)
        ours = encode_record(record)
        again = bytes(marshal.toBytes(marshal.fromBytes("/p", ours, RECORD_TYPE)))
        assert sorted_attributes(again) == ours, f"record {number}"
        theirs = bytes(marshal.toBytes(in_java(hadoop, record)))
        assert parse_record("/p", theirs) == record, f"record {number}"
        assert encode_record(parse_record("/p", theirs)) == sorted_attributes(theirs), f"record {number}"


def test_hadoop_reads_and_refuses_the_same(hadoop: Any, marshal: Any) -> None:
    """The cases of test_record_json have the same results, and Hadoop refuses the same broken texts."""
    validate = hadoop.registry.client.binding.RegistryTypeUtils.validateServiceRecord
    for document, again in AS_HADOOP.items():
        read = marshal.fromBytes("/p", document.encode(), "JSONServiceRecord")
        validate("/p", read)
        seen = bytes(marshal.toBytes(read)).decode()
        if '"external":null' in document:  # nncache writes an empty list
            assert seen == '{"type":"JSONServiceRecord"}'
        elif '"x":1.50' in document:  # nncache keeps the text of a number
            assert sorted_attributes(seen.encode()).decode() == again.replace("1.50", "1.5")
        else:
            assert seen == again
    for document in BROKEN:
        with pytest.raises(Py4JJavaError) as caught:
            validate("/p", marshal.fromBytes("/p", document.encode(), "JSONServiceRecord"))
        assert caught.value.java_exception.getClass().getName() == InvalidRecordError.java_class, document


def test_users_and_ids_have_the_names_that_hadoop_gives_them(hadoop: Any) -> None:
    """Where Hadoop's name is a host name; otherwise nncache refuses the user, while Hadoop creates an entry."""
    binding, chance = hadoop.registry.client.binding, random.Random(3)
    users = [
        "joe",
        "Joe@EX.COM",
        "nn/host@EX",
        "bücher",
        "straße",
        "ΑΛΦΑ",
        "日本語",
        "a。b",
        "ﬁ",
        "☃",
        "john.smith",
    ]
    users += ["".join(chance.choices("abcXYZäÖßéλЖ日語.-@/", k=chance.randint(1, 9))) for _ in range(DRAWN)]
    refused = 0
    for user in users:
        try:
            theirs = binding.RegistryUtils.homePathForUser(user)
        except Py4JJavaError:
            with pytest.raises(InvalidPathnameError):
                element_of_user(user)
            continue
        try:
            ours = paths.home_of(user)
        except InvalidPathnameError:
            refused += 1
            with pytest.raises(InvalidPathnameError):
                paths.writable(theirs)
        else:
            assert ours == theirs
    assert refused < len(users) / 2
