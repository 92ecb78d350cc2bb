"""Output lines of the registry's commands."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from nncache.commands import registry_client, registry_view
from nncache.coordination.errors import ConnectionLostError
from nncache.errors import RegistryCommandError
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import NoPathPermissionsError, PathNotFoundError
from nncache.registry.operations import Registry
from nncache.registry.purge_plan import KeptEntry
from nncache.registry.reaping import Reaped, Reaping
from nncache.registry.record import Address, EntryStatus, RegistryEntry, ServiceRecord, uri_endpoint
from nncache.registry.tree_watch import Change, Current, Present, Removed, WatchGap
from nncache.settings.commands import REGISTRY, load_settings
from tests.registry.samples import WEBHDFS


def status(path: str, children: int = 0, size_bytes: int = 0) -> EntryStatus:
    """Return the status of an entry."""
    return EntryStatus(path=path, time_ms=1408638082445, size_bytes=size_bytes, children=children, version=3)


def test_columns_are_as_wide_as_they_must_be() -> None:
    """Numbers are right-aligned. An empty list has no output."""
    listed = [status("/services", 12), status("/services/hdfs", size_bytes=1234)]
    assert list(registry_view.statuses(listed, as_json=False)) == [
        "12     0  2014-08-21T16:21:22Z  /services",
        " 0  1234  2014-08-21T16:21:22Z  /services/hdfs",
    ]
    assert list(registry_view.statuses([], as_json=False)) == []
    assert json.loads("".join(registry_view.statuses(listed[:1], as_json=True))) == [
        {"path": "/services", "time": 1408638082445, "size": 0, "children": 12, "version": 3}
    ]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"uri": "http://h/"}, "http://h/"),
        ({"uri": None}, ""),
        ({"host": "h", "port": "1"}, "h:1"),
        ({"hostname": "h", "port": "1", "path": "/hbase"}, "h:1/hbase"),
        ({"hostname": "h"}, "h"),
        ({"path": "/p", "x": "y"}, "path=/p,x=y"),
    ],
)
def test_an_address_for_people(fields: Address, text: str) -> None:
    """Each address type has a readable form."""
    assert registry_view.address(fields) == text


def test_what_is_found_names_the_endpoints_that_match() -> None:
    """The other endpoints of the record are omitted."""
    record = ServiceRecord(
        external=(uri_endpoint("a", "REST", "http://a/", "http://b/"), uri_endpoint("b", "REST", "http://c/"))
    )
    entry = RegistryEntry(status("/services/x"), record)
    assert list(registry_view.found([entry], EndpointQuery("api", "a"), as_json=False)) == [
        "/services/x  http://a/  http://b/"
    ]


@pytest.mark.parametrize(
    ("event", "line", "fields"),
    [
        (Present(status("/a"), WEBHDFS), "+ /a  a proxy", {"change": "present", "fault": ""}),
        (Present(status("/a"), ServiceRecord()), "+ /a", {"change": "present", "path": "/a"}),
        (Present(status("/a"), None), "+ /a  no record", {"record": None}),
        (Present(status("/a"), None, "broken"), "+ /a  broken", {"fault": "broken", "version": 3}),
        (Removed("/a"), "- /a", {"change": "removed", "path": "/a"}),
        (WatchGap("lost"), "-- gap: lost; all is read again", {"change": "gap", "why": "lost"}),
        (Current(), "-- current", {"change": "current"}),
    ],
)
def test_a_change_is_one_line(event: Change, line: str, fields: dict[str, object]) -> None:
    """Both as text and as JSON."""
    assert registry_view.change(event, as_json=False) == line
    assert fields.items() <= json.loads(registry_view.change(event, as_json=True)).items()


def test_a_path_of_another_client_breaks_no_line() -> None:
    """Its name and description may hold any characters."""
    event = Present(status("/a"), ServiceRecord(description="x\n- /b"))
    assert "\n" not in registry_view.change(event, as_json=False)


def test_what_a_reaper_does_and_leaves() -> None:
    """An entry without a record is deleted because of another one, and has no reason of its own."""
    reaping = Reaping(
        (Reaped("/a/b", ""), Reaped("/a", "it is FINISHED")), (KeptEntry("/c", "it\nruns", runs=True),)
    )
    assert list(registry_view.gone(reaping, is_done=False)) == [
        "would delete /a/b",
        "would delete /a: it is FINISHED",
    ]
    assert list(registry_view.gone(reaping, is_done=True)) == ["deleted /a/b", "deleted /a: it is FINISHED"]
    assert [line.count("\n") for line in registry_view.kept(reaping.kept)] == [0]
    assert json.loads(registry_view.reaping_as_json(reaping, is_done=True)) == {
        "dryRun": False,
        "gone": [{"path": "/a/b", "why": ""}, {"path": "/a", "why": "it is FINISHED"}],
        "kept": [{"path": "/c", "why": "it\nruns", "runs": True}],
    }


class Closed:
    """A registry whose root this client may not read."""

    root = "/registry"

    async def exists(self, path: str) -> bool:
        """Refuse the request."""
        raise NoPathPermissionsError(path, "refused")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PathNotFoundError("/x", "is not there"), "refused"),  # `exists` then checks for a registry
        (ConnectionLostError("gone"), "ZooKeeper here:2181 does not answer: gone"),
    ],
)
def test_what_fails_while_a_command_works_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    """There is no traceback, also when the search for the reason fails."""

    @asynccontextmanager
    async def opened(_: object) -> AsyncIterator[Registry]:
        yield cast("Any", Closed())

    async def work(_: Registry) -> None:
        raise error

    monkeypatch.setattr(registry_client, "OpenRegistry", opened)
    settings = load_settings(REGISTRY, None, {"zookeeper": ("here:2181",)})
    with pytest.raises(RegistryCommandError, match=line):
        registry_client.with_registry(settings, work)
