"""A file of filters is parsed completely, or rejected with all its errors."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import Filter, check_glob
from nncache.invalidation.filters.filter_file import (
    BadFilterFileError,
    FileEntry,
    FilterFileFault,
    encode_filters,
    parse_filters,
)

JOE = """
[[filter]]
name = "joe"
glob = "/user/joe/*/_SUCCESS"
owner = "joe"
subscribers = ["bob", "alice", "bob"]
"""


def faults(text: str) -> tuple[FilterFileFault, ...]:
    """Return the errors of a file."""
    with pytest.raises(BadFilterFileError) as caught:
        parse_filters(text)
    assert str(caught.value) == "; ".join(fault.reason for fault in caught.value.faults)
    return caught.value.faults


def test_an_entry_says_what_is_wanted() -> None:
    """Entries are sorted by name, and each subscriber occurs once; an omitted key stays unset."""
    ann = '[[filter]]\nname = "ann"\nglob = "/a"\n'
    assert parse_filters(JOE + ann) == (
        FileEntry(name="ann", path_glob="/a"),
        FileEntry(
            name="joe", path_glob="/user/joe/*/_SUCCESS", owner="joe", allowed_subscribers=("alice", "bob")
        ),
    )
    (none,) = parse_filters(ann + "subscribers = []")
    assert none.allowed_subscribers == ()
    assert parse_filters("") == ()


NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,9}", fullmatch=True)
USERS = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)


def is_glob(text: str) -> bool:
    """Return whether the text is a valid glob."""
    try:
        check_glob(text)
    except FilterError:
        return False
    return True


GLOBS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9).map("/{}x".format).filter(is_glob)


@given(st.dictionaries(NAMES, st.tuples(GLOBS, USERS, st.lists(USERS, max_size=3)), max_size=4))
def test_what_is_written_is_read(wanted: dict[str, tuple[str, str, list[str]]]) -> None:
    """This holds for any glob. No value breaks a line or has control characters of a terminal."""
    filters = [Filter(name, glob, owner, tuple(users)) for name, (glob, owner, users) in wanted.items()]
    text = encode_filters(filters)
    assert all(line.isprintable() for line in text.split("\n"))
    assert [
        Filter(each.name, each.path_glob, each.owner or "", each.allowed_subscribers or ())
        for each in parse_filters(text)
    ] == sorted(filters, key=lambda each: each.name)
    assert encode_filters(reversed(filters)) == text


def test_quotes_and_backslashes_are_written_as_escapes() -> None:
    """TOML would read them differently otherwise."""
    text = encode_filters([Filter("a", '/"x\\\\', "joe")])
    assert tomllib.loads(text)["filter"][0]["glob"] == '/"x\\\\'


def test_all_errors_are_named_at_once_each_with_its_line() -> None:
    """A filter without a valid name is named by its number."""
    text = (
        'title = "x"\n[[filter]]\nname = "a/b"\nglob = "x"\nfoo = 1\nowner = "a:b"\nsubscribers = ["a", "a:b"]\n'
        '[[ filter ]] # second\nglob = 3\nname = 7\n[[filter]]\nname = "c"\nglob = "/c"\nsubscribers = "x"\n'
        '[[filter]]\nname = "c"\nglob = "/c"\nowner = true\n[[filter]]\nname = "d"\nglob = "/d"\n'
        '[[filter]]\nname = "d"\nglob = "/d"\n'
    )
    found = [(fault.line, fault.reason.partition(": must be")[0]) for fault in faults(text)]
    assert found == [
        (None, "title: only [[filter]] tables may stand at the top"),
        (5, "filter 'a/b': foo: no such key; the nearest is glob"),
        (3, "filter 'a/b': name: 'a/b'"),
        (4, "filter 'a/b': glob: x: at position 0: a glob begins with a /"),
        (6, "filter 'a/b': owner: 'a:b'"),
        (7, "filter 'a/b': subscriber: 'a:b'"),
        (10, "filter 2: name: 7"),
        (9, "filter 2: glob: 3"),
        (14, "filter 'c': subscribers: 'x'"),
        (18, "filter 'c': owner: True"),
        (23, "filter 'd': name: stands for a filter above already"),
    ]


def test_what_is_missing_is_reported_at_the_header() -> None:
    """A missing key has no line of its own, so the error has the line of its table."""
    assert faults("\n[[filter]]\n") == (
        FilterFileFault(2, "filter 1: name: is missing"),
        FilterFileFault(2, "filter 1: glob: is missing"),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[filter]\n", "is not TOML: "),
        ("a = " + "[" * 5000, "is not TOML: "),
        ("filter = 1", "filter: must be tables, each under [[filter]]"),
        ("filter = [1]", "filter 1: must be a table"),
        ('filter = [{name = "a"}]', "filter 'a': glob: is missing"),
        (
            '[[filter]]\nname = "a"\nglob = """/x\n[[filter]]\n"""\nowner="a:b"',
            "filter 'a': owner: 'a:b': must",
        ),
    ],
)
def test_where_the_lines_are_not_known_none_is_named(text: str, reason: str) -> None:
    """The parser does not report the lines, and a wrong one would mislead."""
    found = faults(text)
    assert {fault.line for fault in found} == {None}
    assert found[-1].reason.startswith(reason)


def test_too_many_subscribers_are_reported() -> None:
    """The limit is the same as for a single filter that is added."""
    users = ", ".join(f'"u{number}"' for number in range(10_001))
    (fault,) = faults(f'[[filter]]\nname = "a"\nglob = "/a"\nsubscribers = [{users}]')
    assert fault == FilterFileFault(4, "filter 'a': 10001 subscribers: at most 10000 are possible")
