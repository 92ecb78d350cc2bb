"""Filters are shown whole, whatever is in them, and what is no filter is named."""

import io
import json
from dataclasses import replace

from rich.console import Console

from nncache.commands.filters_view import (
    all_as_json,
    columns,
    complaints,
    details,
    fault_lines,
    plan_as_json,
    plan_lines,
    remarks,
    summary,
    table,
)
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import Change, FilePlan
from nncache.invalidation.filters.filter_file import BadFilterFileError, Fault
from nncache.invalidation.filters.hdfs_bulk import Done
from nncache.invalidation.filters.hdfs_reader import StoredFilter
from nncache.invalidation.filters.stored_filters import StoredFilters
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


def test_a_table_keeps_brackets_and_counts_subscribers() -> None:
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


PLANNED = Filter("joe", "/user/joe/\x1b*", "joe", ("alice", "bob"))
OTHER = Filter("joe", "/x", "ann", ("bob", "carol"))


def test_each_filter_has_a_line_that_steers_no_terminal() -> None:
    """As of diff(1): what comes, what changes, what goes."""
    plan = FilePlan(
        added=(PLANNED, Filter("n", "/n", "joe")),
        changed=(Change(PLANNED, OTHER),),
        removed=("old",),
        broken={},
    )
    assert list(plan_lines(plan)) == [
        "+ joe  /user/joe/\\x1b*  owner joe  subscribers alice,bob",
        "+ n  /n  owner joe  subscribers -",
        "~ joe  glob /user/joe/\\x1b* -> /x; owner joe -> ann; subscribers +carol -alice",
        "- old",
    ]
    assert list(remarks(plan)) == []


def test_only_what_differs_is_told() -> None:
    """Of a filter that changes."""
    change = Change(OTHER, Filter("joe", "/x", "joe", OTHER.allowed_subscribers))
    assert list(plan_lines(FilePlan(changed=(change,), broken={}))) == ["~ joe  owner ann -> joe"]


def test_what_is_kept_or_broken_is_remarked() -> None:
    """Of many filters some are named."""
    many = tuple(f"f{number}" for number in range(10))
    assert list(remarks(FilePlan(unlisted=many, broken={"bad": "why"}))) == [
        "broken: bad: why: left alone; remove it and apply the file again",
        "not in the file, and kept (--prune removes what is not): f0, f1, f2, f3, f4, f5, f6, f7 and 2 more",
    ]
    assert next(remarks(FilePlan(refused={"wide": "why"}, broken={}))) == "refused: wide: why"
    assert next(remarks(FilePlan(unlisted=many[:1], broken={}))).endswith(": f0")


def test_json_says_what_was_done_only_where_something_was() -> None:
    """The plan of `diff` has no such key."""
    plan = FilePlan(added=(PLANNED,), broken={}, unchanged=3)
    assert "done" not in plan_as_json(plan)
    assert plan_as_json(plan, Done(added=1))["done"] == {"added": 1, "changed": 0, "removed": 0}
    assert summary(Done(1, 2, 3), 4) == "filters: 1 added, 2 changed, 3 removed, 4 unchanged"


def test_errors_of_a_file_look_as_a_compiler_s() -> None:
    """File, line, reason."""
    error = BadFilterFileError([Fault(None, "is not TOML"), Fault(3, "filter 'a': x\ny")])
    assert list(fault_lines("f.toml", error)) == ["f.toml: is not TOML", "f.toml:3: filter 'a': x\\ny"]
