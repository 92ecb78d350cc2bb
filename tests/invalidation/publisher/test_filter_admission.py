"""What is refused is not published, and the log says so once."""

import pytest

from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.trust import Distrust
from nncache.invalidation.publisher.filter_admission import MAX_LOGGED, FilterAdmission
from tests.invalidation.publisher.samples import published
from tests.invalidation.publisher.stage import FakeStoredFilters, Stage, play
from tests.invalidation.virtual_time import until


def test_each_refusal_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """And again when its reason is another one; of very many some are named."""
    admission = FilterAdmission(FilterSettings())
    stored = FakeStoredFilters({"f": Filter("f", "/*", "joe"), "g": Filter("g", "/g", "joe")}, {"bad": "why"})
    admission.admit(stored, {})
    admitted = admission.admit(stored, {})
    assert admitted.filters.keys() == {"g"}
    assert admitted.broken.keys() == {"bad", "f"}
    assert [record.getMessage() for record in caplog.records] == [
        f"filter f is refused, it is not published: {admission.refused['f']}"
    ]
    admission.admit(FakeStoredFilters({"f": Filter("f", "/*/x", "joe")}, {}), {"f": published("f", "/f")})
    assert "what is published of it stays" in caplog.records[-1].getMessage()
    caplog.clear()
    many = {f"m{number:02}": Filter(f"m{number:02}", "/*", "joe") for number in range(MAX_LOGGED + 3)}
    admission.admit(FakeStoredFilters(many, {}), {})
    assert caplog.records[-1].getMessage() == "3 more filters are refused; the status page names them"
    assert len(caplog.records) == MAX_LOGGED + 1


def test_a_filter_that_is_broken_now_keeps_its_room() -> None:
    """What is published of it is still matched; one that is gone from HDFS makes room."""
    admission = FilterAdmission(FilterSettings(max_filters=1))
    stored = FakeStoredFilters({"g": Filter("g", "/g", "joe")}, {"f": "why"})
    assert admission.admit(stored, {"f": published("f", "/f")}).broken.keys() == {"f", "g"}
    stored = FakeStoredFilters(stored.filters, {})
    assert admission.admit(stored, {"f": published("f", "/f")}).filters.keys() == {"g"}


def test_a_publisher_leaves_refused_filters_out() -> None:
    """Until there is room; its status names them with the reason."""

    async def story(on: Stage) -> None:
        for number in range(3):
            on.filters.put(f"f{number}", f"/f{number}/*")
        async with on.publisher() as process:
            publisher = process.publisher
            await until(lambda: publisher.stats().filters == 2)
            assert on.published_filters().keys() == {"f0", "f1"}
            assert publisher.stats().filters_refused == 1
            assert publisher.broken_filters == {"f2": "refused: there are 2 filters already (max_filters)"}
            on.filters.remove("f0")
            await until(lambda: on.published_filters().keys() == {"f1", "f2"})
            assert publisher.stats().filters_refused == 0

    play(story, admission=FilterSettings(max_filters=2))


def test_a_filter_that_others_may_write_is_out_of_force() -> None:
    """It is removed, with what is published of it, and comes back once it is good again."""

    async def story(on: Stage) -> None:
        on.filters.put("f", "/f/*")
        on.filters.put("g", "/g/*")
        async with on.publisher() as process:
            publisher = process.publisher
            await until(lambda: publisher.stats().filters == 2)
            on.filters.distrust("f", Distrust("/f may be written", "hdfs dfs -chmod go-w /f"))
            await until(lambda: on.published_filters().keys() == {"g"})
            assert publisher.stats().filters_refused == 1
            assert publisher.broken_filters == {
                "f": "refused: /f may be written: hdfs dfs -chmod go-w /f",
            }
            on.filters.distrust("f", None)
            await until(lambda: on.published_filters().keys() == {"f", "g"})
            assert publisher.stats().filters_refused == 0

    play(story)


def test_an_untrusted_definition_that_is_broken_is_removed(caplog: pytest.LogCaptureFixture) -> None:
    """What is published of it may have been written by the same hand; nor does it take another's room."""
    admission = FilterAdmission(FilterSettings(max_filters=1))
    why = Distrust("/ may be written", "hdfs dfs -chmod go-w /")
    stored = FakeStoredFilters({"g": Filter("g", "/g", "joe")}, {"f": "why"}, {"f": why})
    admitted = admission.admit(stored, {"f": published("f", "/f")})
    assert admitted.filters.keys() == {"g"}
    assert not admitted.broken
    assert admission.refused == {"f": str(why)}
    assert caplog.records[-1].getMessage() == (
        f"filter f is refused, what is published of it is removed: {why}"
    )
