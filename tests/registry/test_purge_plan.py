"""What goes when something of YARN has ended."""

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
    """Its attempts' and its containers', of any epoch."""
    assert application_of(yarn_id) == application


def test_a_record_goes_by_its_id_and_its_policy() -> None:
    """Both, as Hadoop's SelectByYarnPersistence has it; a permanent one goes with nothing."""
    assert selects(of("container", CONTAINER), CONTAINER, "container")
    assert not selects(of("application", CONTAINER), CONTAINER, "container")
    assert not selects(of("container", APPLICATION), CONTAINER, "container")
    assert not selects(ServiceRecord(), CONTAINER, "container")


def test_an_application_takes_its_components_along() -> None:
    """From the bottom up, entries without a record among them; what is beside it stays."""
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
    """Nothing is deleted on doubt; its own components that match still go."""
    own = of("application", APPLICATION)
    plan = plan_purge({"/a": own, "/a/b": below, "/a/c": own}, [], APPLICATION, "application")
    assert plan.delete == ("/a/c",)
    assert plan.kept == (KeptEntry("/a", "/a/b, which is below it, does not belong to it"),)


def test_what_cannot_be_read_keeps_what_is_above_it() -> None:
    """It may be anything."""
    plan = plan_purge({"/a": of("container", CONTAINER)}, ["/a/b"], CONTAINER, "container")
    assert plan.delete == ()
    assert plan.kept == (KeptEntry("/a", "/a/b, which is below it, cannot be read"),)


def test_a_foreign_id_takes_only_entries_without_a_record() -> None:
    """Nothing says what belongs together."""
    x = of("application", "x")
    plan = plan_purge({"/a": x, "/a/b": None, "/c": x, "/c/d": of("container", "x")}, [], "x", "application")
    assert plan.delete == ("/a/b", "/a")
    assert [kept.path for kept in plan.kept] == ["/c"]


def reaped(entries: dict[str, ServiceRecord | None], unreadable: list[str] = []) -> PurgePlan:  # noqa: B006 - never changed
    """Plan with all that is of APPLICATION ended."""
    return plan_reaping(
        entries, unreadable, lambda record: application_of(record.attributes.get("yarn:id", "")) == ENDED
    )


def test_all_that_has_ended_goes_at_once() -> None:
    """Whatever it is, with what is below it and has no record."""
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
    """What is beside it goes."""
    plan = reaped({
        "/a": of("application", APPLICATION), "/a/b": below, "/a/c": of("container", CONTAINER),
    })  # fmt: skip
    assert plan == PurgePlan(
        ("/a/c",), (KeptEntry("/a", "/a/b, which is below it, is not known to have ended"),)
    )


def test_what_cannot_be_read_stays_with_all_above_it() -> None:
    """An entry whose own children cannot be listed, too."""
    entries: dict[str, ServiceRecord | None] = {"/a": of("application", APPLICATION)}
    for broken in ("/a", "/a/b"):
        assert reaped(entries, [broken]) == PurgePlan(
            (), (KeptEntry("/a", f"{broken}, which is below it, cannot be read"),)
        )
