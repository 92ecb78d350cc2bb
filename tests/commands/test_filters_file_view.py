"""How a plan is shown."""

from nncache.commands.filters_view import fault_lines, plan_as_json, plan_lines, remarks, summary
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import Change, FilePlan
from nncache.invalidation.filters.filter_file import BadFilterFileError, Fault
from nncache.invalidation.filters.hdfs_bulk import Done

JOE = Filter("joe", "/user/joe/\x1b*", "joe", ("alice", "bob"))
OTHER = Filter("joe", "/x", "ann", ("bob", "carol"))


def test_each_filter_has_a_line_that_steers_no_terminal() -> None:
    """As of diff(1): what comes, what changes, what goes."""
    plan = FilePlan(
        added=(JOE, Filter("n", "/n", "joe")), changed=(Change(JOE, OTHER),), removed=("old",), broken={}
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
    plan = FilePlan(added=(JOE,), broken={}, unchanged=3)
    assert "done" not in plan_as_json(plan)
    assert plan_as_json(plan, Done(added=1))["done"] == {"added": 1, "changed": 0, "removed": 0}
    assert summary(Done(1, 2, 3), 4) == "filters: 1 added, 2 changed, 3 removed, 4 unchanged"


def test_errors_of_a_file_look_as_a_compiler_s() -> None:
    """File, line, reason."""
    error = BadFilterFileError([Fault(None, "is not TOML"), Fault(3, "filter 'a': x\ny")])
    assert list(fault_lines("f.toml", error)) == ["f.toml: is not TOML", "f.toml:3: filter 'a': x\\ny"]
