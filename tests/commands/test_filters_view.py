"""Filters are shown completely, and whatever is not a valid filter is named."""

import io
import json
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from nncache.commands.filters import filters
from nncache.commands.filters_estimate import lines
from nncache.commands.filters_store import bar, on_hdfs, on_store
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
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.errors import FilterError, FilterExistsError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import FilePlan, FilterUpdate
from nncache.invalidation.filters.filter_file import BadFilterFileError, FilterFileFault
from nncache.invalidation.filters.hdfs_bulk import Done
from nncache.invalidation.filters.hdfs_reader import StoredFilter
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.filters.trust import Distrust
from nncache.invalidation.publisher.estimate import Estimate
from nncache.settings.commands import SettingsOfFilters
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.commands.a_terminal import on_a_terminal

JOE = Filter("joe", "/user/joe/[a-z]/{x,y}", "joe", ("alice", "bob"))
MANY = Filter("many", "/m", "carol", tuple(f"u{number:02}" for number in range(20)))
NOBODYS = Filter("nobodys", "/a\x1b2J", "carol")
STORED = StoredFilters(
    filters={each.name: each for each in (JOE, MANY, NOBODYS)},
    broken={"bad\x1b": "definition.json: is\nodd"},
    odd_subscribers={"joe": ("9bad", "\x1b[2J")},
)


def test_columns_are_for_people_and_for_awk() -> None:
    """Every line has all columns, and a list of subscribers has no spaces. Control characters are escaped."""
    heading, joe, many, nobodys = columns(STORED)
    assert heading == "NAME     GLOB                   OWNER  SUBSCRIBERS"
    assert joe == "joe      /user/joe/[a-z]/{x,y}  joe    alice,bob"
    assert many.split()[3].count(",") == 19
    assert nobodys == "nobodys  /a\\x1b2J               carol  -"


def test_a_table_keeps_brackets_and_counts_subscribers() -> None:
    """Brackets in a glob are not markup of rich."""
    shown = io.StringIO()
    Console(file=shown, width=120, highlight=False).print(table(STORED))
    text = shown.getvalue()
    for part in ("subscribers", "/user/joe/[a-z]/{x,y}", "alice, bob", "u07 and 12 more", "\\x1b2J"):
        assert part in text
    assert "\x1b" not in text


def test_json_has_all_and_the_names_of_the_design() -> None:
    """Broken filters are included."""
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
    """Every subscriber is listed, however many there are."""
    assert list(details(StoredFilter(JOE, ()))) == [
        "joe",
        "  glob         /user/joe/[a-z]/{x,y}",
        "  owner        joe",
        "  subscribers  alice, bob",
    ]
    assert "u19" in list(details(StoredFilter(MANY, ())))[-1]
    assert list(details(StoredFilter(NOBODYS, ())))[-1] == "  subscribers  none"


def test_filters_that_others_may_write_are_named_once() -> None:
    """Filters with the same cause share a line; in JSON each has it."""
    why = Distrust("/apps may be written by others", "hdfs dfs -chmod go-w /apps")
    odd = replace(STORED, broken={}, odd_subscribers={}, untrusted={"joe": why, "many": why})
    text = "/apps may be written by others: hdfs dfs -chmod go-w /apps"
    assert list(complaints(odd)) == [f"refused by the publisher: joe, many: {text}"]
    assert json.loads(all_as_json(odd, {"joe": "too general"}))["refused"] == [
        {"name": "joe", "reason": text},
        {"name": "many", "reason": text},
    ]


def test_what_does_not_count_is_named_with_its_reason() -> None:
    """Each problem is one line, whatever names an owner gave to the children of the list."""
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
    """As in diff(1): added, changed, removed."""
    plan = FilePlan(
        added=(PLANNED, Filter("n", "/n", "joe")),
        changed=(FilterUpdate(PLANNED, OTHER),),
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


def test_only_what_differs_is_printed() -> None:
    """The unchanged fields of a changed filter are omitted."""
    change = FilterUpdate(OTHER, Filter("joe", "/x", "joe", OTHER.allowed_subscribers))
    assert list(plan_lines(FilePlan(changed=(change,), broken={}))) == ["~ joe  owner ann -> joe"]


def test_what_is_kept_or_broken_is_remarked() -> None:
    """At most eight names are listed."""
    many = tuple(f"f{number}" for number in range(10))
    assert list(remarks(FilePlan(unlisted=many, broken={"bad": "why"}))) == [
        "broken: bad: why: left alone; remove it and apply the file again",
        "not in the file, and kept (--prune removes what is not): f0, f1, f2, f3, f4, f5, f6, f7 and 2 more",
    ]
    assert next(remarks(FilePlan(refused={"wide": "why"}, broken={}))) == "refused: wide: why"
    assert next(remarks(FilePlan(unlisted=many[:1], broken={}))).endswith(": f0")


def test_json_says_what_was_done_only_where_something_was() -> None:
    """The plan of `diff` has no key `done`."""
    plan = FilePlan(added=(PLANNED,), broken={}, unchanged=3)
    assert "done" not in plan_as_json(plan)
    assert plan_as_json(plan, Done(added=1))["done"] == {"added": 1, "changed": 0, "removed": 0}
    assert summary(Done(1, 2, 3), 4) == "filters: 1 added, 2 changed, 3 removed, 4 unchanged"


def test_errors_of_a_file_look_as_a_compiler_s() -> None:
    """The line is "file:line: reason"."""
    error = BadFilterFileError([FilterFileFault(None, "is not TOML"), FilterFileFault(3, "filter 'a': x\ny")])
    assert list(fault_lines("f.toml", error)) == ["f.toml: is not TOML", "f.toml:3: filter 'a': x\\ny"]


FOUND = Estimate(
    first_txid=11,
    last_txid=20,
    seconds=10.0,
    events=8,
    matched=3,
    matched_transactions=2,
    busiest_minute=3,
    over_limit=0,
    examples=("/a/f",),
)


def test_the_namenodes_latest_edits_are_read(cluster: Cluster, hdfs_directory: str) -> None:
    """It reads to the end, or as many transactions as asked for. Only superusers may."""
    for name in ("a", "b", "c"):
        make_directory(cluster, f"{hdfs_directory}/{name}")

    def estimate(*words: str, glob: str = f"{hdfs_directory}/*", user: str = cluster.superuser) -> Result:
        place = ("--namenode-http", cluster.namenodes[0].http, "--user", user)
        return CliRunner().invoke(filters, ["estimate", "--glob", glob, *words, *place])

    found = json.loads(estimate("--json").stdout)
    assert found["isWhole"] is True
    assert found["matched"] == 3
    assert found["examples"] == [f"{hdfs_directory}/{name}" for name in "cba"]
    assert json.loads(estimate("--json", "--transactions", "1").stdout)["transactions"] <= 1
    refused, wrong = estimate(user="joe").exception, estimate(glob="x").exception
    assert isinstance(refused, FiltersError)
    assert "only a superuser of HDFS may read the edits" in str(refused)
    assert isinstance(wrong, ConfigurationError)
    assert "a glob begins with a /" in str(wrong)
    result = estimate("--transactions", "9", "--max-seconds", "1e-9", "--limit", "0", glob="/*/**")
    assert result.stdout.startswith("/*/**\n")
    assert "not to the end: --max-seconds" in result.stderr
    assert "** stays within one level" in result.stderr


def test_an_estimate_is_printed_in_lines() -> None:
    """The last line compares the events with the limits."""
    assert list(lines("/a/*", FOUND, 1000.0, "")) == [
        "/a/*",
        "  edits      10 transactions (11 to 20), of 10 s",
        "  events     3 of 8, 0.3 a second; in the busiest minute 3",
        "  share      20.00% of the transactions",
        "  such as    /a/f",
        "  limits     within 1000 events a second",
    ]
    assert list(lines("/a/*", FOUND, 0.0, ""))[-1] == "  limits     any number of events"
    assert list(lines("/a/*", FOUND, 0.0, "too general"))[-1] == "  limits     refused: too general"


def test_what_is_not_known_is_not_printed() -> None:
    """An unknown duration is omitted. Without edits, one line says so."""
    vague = replace(
        FOUND, first_txid=1, last_txid=1, seconds=None, matched=9, events=9, matched_transactions=1
    )
    vague = replace(vague, busiest_minute=9, over_limit=4, examples=())
    assert list(lines("/a", vague, 2.5, "")) == [
        "/a",
        "  edits      1 transactions (1 to 1)",
        "  events     9 of 9; in the busiest minute 9",
        "  share      100.00% of the transactions",
        "  limits     4 of these events would be left out: 2.5 a second are allowed",
    ]
    none = replace(vague, first_txid=0, last_txid=-1)
    assert list(lines("/a", none, 2.5, "")) == ["/a", "  the NameNode has no edits to look at"]


NOWHERE = SettingsOfFilters(namenodes=WebHdfsSettings(namenode_http=("127.0.0.1:1",), user="joe"))


def test_an_unreachable_namenode_is_reported_with_the_flag() -> None:
    """The message has the operating system's words, not those of a library."""
    with pytest.raises(FiltersError) as caught:
        on_store(NOWHERE, lambda store: store.read_all())
    assert str(caught.value) == (
        "the filters in /apps/nncache/filters cannot be read: cannot connect to 127.0.0.1:1: [Errno 111] "
        "Connection refused; "
        "--namenode-http names the NameNodes' HTTP addresses"
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [(FilterError("odd\n"), ConfigurationError), (FilterExistsError("taken\n"), FiltersError)],
)
def test_whose_fault_it_is_says_the_kind(error: Exception, kind: type[Exception]) -> None:
    """The class of the error sets the exit code. The message is one line, without advice about addresses."""

    async def fail(*_: object) -> None:
        raise error

    with pytest.raises(kind) as caught:
        on_hdfs(NOWHERE, fail)
    assert str(caught.value) == str(error).replace("\n", "\\n")


def test_no_bar_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    """Output to a file has no progress bar, however long the command takes."""
    with bar("reading") as tell:
        tell(1, 2)
        tell(2, 2)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long() -> None:
    """The bar is removed at the end."""
    code = (
        "from nncache.commands import filters_store as progress_bar\n"
        "progress_bar.PATIENCE_S = 0.0\n"
        "with progress_bar.bar('reading filters') as tell:\n"
        "    tell(1, 1000)\n"
        "print('the end')\n"
    )
    shown = on_a_terminal(sys.executable, "-c", code)
    assert "reading filters" in shown
    assert "1/1000" in shown
    assert shown.rstrip().endswith("the end")
