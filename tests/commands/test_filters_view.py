"""Filters are shown whole, whatever is in them, and what is no filter is named."""

import io
import json
from dataclasses import replace

from rich.console import Console

from nncache.commands.filters_view import all_as_json, columns, complaints, details, table
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import StoredFilter, StoredFilters
from nncache.invalidation.filters.trust import Distrust

JOE = Filter("joe", "/user/joe/[a-z]/{x,y}", "joe", ("alice", "bob"))
MANY = Filter("many", "/m", "carol", tuple(f"u{number:02}" for number in range(20)))
NOBODYS = Filter("nobodys", "/a\x1b2J", "carol")
STORED = StoredFilters(
    filters={each.name: each for each in (JOE, MANY, NOBODYS)},
    broken={"bad\x1b": "definition.json: is\nodd"},
    odd_subscribers={"joe": ("9bad", "\x1b[2J")},
)


def test_columns_are_for_people_and_for_awk() -> None:
    """Every line has all columns; a list of subscribers has no blanks; nothing steers a terminal."""
    heading, joe, many, nobodys = columns(STORED)
    assert heading == "NAME     GLOB                   OWNER  SUBSCRIBERS"
    assert joe == "joe      /user/joe/[a-z]/{x,y}  joe    alice,bob"
    assert many.split()[3].count(",") == 19
    assert nobodys == "nobodys  /a\\x1b2J               carol  -"


def test_without_filters_there_are_headings() -> None:
    """So that a script finds the first line to skip."""
    assert list(columns(StoredFilters(filters={}, broken={}, odd_subscribers={}))) == [
        "NAME  GLOB  OWNER  SUBSCRIBERS"
    ]


def test_a_table_takes_brackets_for_what_they_are_and_counts_many_subscribers() -> None:
    """A glob is no markup."""
    shown = io.StringIO()
    Console(file=shown, width=120, highlight=False).print(table(STORED))
    text = shown.getvalue()
    for part in ("subscribers", "/user/joe/[a-z]/{x,y}", "alice, bob", "u07 and 12 more", "\\x1b2J"):
        assert part in text
    assert "\x1b" not in text


def test_json_has_all_and_the_names_of_the_design() -> None:
    """Broken ones, too."""
    parsed = json.loads(all_as_json(STORED, {"wide": "too general"}))
    assert parsed["filters"][0] == {
        "name": "joe",
        "pathGlob": "/user/joe/[a-z]/{x,y}",
        "owner": "joe",
        "allowedSubscribers": ["alice", "bob"],
    }
    assert len(parsed["filters"][1]["allowedSubscribers"]) == 20
    assert parsed["refused"] == [{"name": "wide", "reason": "too general"}]
    assert parsed["broken"] == [{"name": "bad\x1b", "reason": "definition.json: is\nodd"}]


def test_one_filter_is_shown_with_all_its_subscribers() -> None:
    """However many there are."""
    assert list(details(StoredFilter(JOE, ()))) == [
        "joe",
        "  glob         /user/joe/[a-z]/{x,y}",
        "  owner        joe",
        "  subscribers  alice, bob",
    ]
    assert "u19" in list(details(StoredFilter(MANY, ())))[-1]
    assert list(details(StoredFilter(NOBODYS, ())))[-1] == "  subscribers  none"


def test_filters_that_others_may_write_are_named_once() -> None:
    """By their cause, in the lines and in JSON."""
    why = Distrust("/apps may be written by others", "hdfs dfs -chmod go-w /apps")
    odd = replace(STORED, broken={}, odd_subscribers={}, untrusted={"joe": why, "many": why})
    text = "/apps may be written by others: hdfs dfs -chmod go-w /apps"
    assert list(complaints(odd)) == [f"refused by the publisher: joe, many: {text}"]
    assert json.loads(all_as_json(odd, {"joe": "too general"}))["refused"] == [
        {"name": "joe", "reason": text},
        {"name": "many", "reason": text},
    ]


def test_what_does_not_count_is_named_with_its_reason() -> None:
    """A line each, whatever an owner has called the children of the list."""
    assert next(complaints(STORED, {"wide": "too\ngeneral"})) == (
        "refused, unless it was in force before the limit: wide: too\\ngeneral"
    )
    assert list(complaints(STORED)) == [
        "broken: bad\\x1b: definition.json: is\\nodd",
        "ignored: joe: '9bad' among its subscribers is no user name",
        "ignored: joe: '\\x1b[2J' among its subscribers is no user name",
    ]
