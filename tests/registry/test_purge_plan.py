"""Which records are removed when an object of YARN has ended."""

import pytest

from nncache.registry.purge_plan import (
    KeptEntry,
    PurgePlan,
    application_of,
    plan_purge,
    plan_reaping,
    selects,
)
from nncache.registry.record import ServiceRecord
from tests.registry.samples import yarn_record as of

APPLICATION = "application_1408631738011_0001"
ENDED = "1408631738011_0001"
CONTAINER = "container_e17_1408631738011_0001_01_000002"


@pytest.mark.parametrize(
    ("yarn_id", "application"),
    [
        (APPLICATION, "1408631738011_0001"),
        ("appattempt_1408631738011_0001_000001", "1408631738011_0001"),
        (CONTAINER, "1408631738011_0001"),
        ("container_1408631738011_0001_01_000002", "1408631738011_0001"),
        ("example-0001", None),
        ("", None),
    ],
)
def test_ids_of_one_application_have_it_in_common(yarn_id: str, application: str | None) -> None:
    """This includes ids of attempts and containers, of any epoch."""
    assert application_of(yarn_id) == application


def test_a_record_goes_by_its_id_and_its_policy() -> None:
    """Both must match, as in Hadoop's SelectByYarnPersistence; a permanent record is never removed."""
    assert selects(of("container", CONTAINER), CONTAINER, "container")
    assert not selects(of("application", CONTAINER), CONTAINER, "container")
    assert not selects(of("container", APPLICATION), CONTAINER, "container")
    assert not selects(ServiceRecord(), CONTAINER, "container")


def test_an_application_takes_its_components_along() -> None:
    """They are removed from the bottom up, with entries that have no record; sibling entries remain."""
    plan = plan_purge(
        {
            "/": None,
            "/users/joe/web/a": of("application", APPLICATION),
            "/users/joe/web/a-b": None,
            "/users/joe/web/a/components": None,
            "/users/joe/web/a/components/c1": of("container", CONTAINER),
            "/users/joe/web/b": of("application", "application_1408631738011_0002"),
        },
        ["/users/joe/web/c"],
        APPLICATION,
        "application",
    )
    above = "/users/joe/web/a"
    assert plan.delete == (f"{above}/components/c1", f"{above}/components", above)
    assert plan.kept == ()


@pytest.mark.parametrize(
    "below",
    [
        ServiceRecord(),
        of("permanent", APPLICATION),
        of("container", "container_1408631738011_0002_01_000001"),
        of("container", "mine"),
    ],
)
def test_what_belongs_to_something_else_keeps_what_is_above_it(below: ServiceRecord) -> None:
    """In doubt nothing is deleted; the matching components below are still removed."""
    own = of("application", APPLICATION)
    plan = plan_purge({"/a": own, "/a/b": below, "/a/c": own}, [], APPLICATION, "application")
    assert plan.delete == ("/a/c",)
    assert plan.kept == (KeptEntry("/a", "/a/b, which is below it, does not belong to it"),)


def test_what_cannot_be_read_keeps_what_is_above_it() -> None:
    """Its record is unknown."""
    plan = plan_purge({"/a": of("container", CONTAINER)}, ["/a/b"], CONTAINER, "container")
    assert plan.delete == ()
    assert plan.kept == (KeptEntry("/a", "/a/b, which is below it, cannot be read"),)


def test_a_foreign_id_takes_only_entries_without_a_record() -> None:
    """With such an id nothing shows which records belong together."""
    x = of("application", "x")
    plan = plan_purge({"/a": x, "/a/b": None, "/c": x, "/c/d": of("container", "x")}, [], "x", "application")
    assert plan.delete == ("/a/b", "/a")
    assert [kept.path for kept in plan.kept] == ["/c"]


def reaped(entries: dict[str, ServiceRecord | None], unreadable: list[str] = []) -> PurgePlan:  # noqa: B006 - never changed
    """Return the plan for APPLICATION and all its parts as ended."""
    return plan_reaping(
        entries, unreadable, lambda record: application_of(record.attributes.get("yarn:id", "")) == ENDED
    )


def test_all_that_has_ended_goes_at_once() -> None:
    """Records of any kind are removed, with the entries below that have no record."""
    other = of("application", "application_1408631738011_0002")
    plan = reaped({
        "/a": of("application", APPLICATION), "/a/c": None, "/a/c/d": of("container", CONTAINER),
        "/b": of("container", CONTAINER), "/c": other, "/d": None, "/e": ServiceRecord(),
    })  # fmt: skip
    assert plan == PurgePlan(("/a/c/d", "/a/c", "/a", "/b"), ())


@pytest.mark.parametrize(
    "below", [ServiceRecord(), of("container", "container_1408631738011_0002_01_000001")]
)
def test_what_has_not_ended_keeps_what_is_above_it(below: ServiceRecord) -> None:
    """Sibling entries are removed."""
    plan = reaped({
        "/a": of("application", APPLICATION), "/a/b": below, "/a/c": of("container", CONTAINER),
    })  # fmt: skip
    assert plan == PurgePlan(
        ("/a/c",), (KeptEntry("/a", "/a/b, which is below it, is not known to have ended"),)
    )


def test_what_cannot_be_read_stays_with_all_above_it() -> None:
    """The same holds for an entry whose children cannot be listed."""
    entries: dict[str, ServiceRecord | None] = {"/a": of("application", APPLICATION)}
    for broken in ("/a", "/a/b"):
        assert reaped(entries, [broken]) == PurgePlan(
            (), (KeptEntry("/a", f"{broken}, which is below it, cannot be read"),)
        )
