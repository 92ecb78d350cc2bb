"""Who is believed, and where the events come from, follows from the settings."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from nncache.daemons.event_streams import event_streams_of
from nncache.proxy.events.endpoint import EventsEndpoint
from nncache.proxy.termination.terminator import Terminator
from nncache.proxy.traffic import Traffic
from nncache.settings.commands import PROXY, load_settings
from tests.model.upstream import ClientRequest
from tests.proxy.doubles import FakeClock
from tests.proxy.termination.test_terminator import Scene

ZOOKEEPER = {"zookeeper": ("zk:2181",), "nameservice": "ns1"}


def built(
    settings: Mapping[str, object], *, terminator: Terminator | None = None, is_secured: bool = False
) -> EventsEndpoint:
    """Build it."""
    clock = FakeClock()
    given = {"namenode_http": ("nn:9870",), "namenode_rpc": ("nn:8020",), **settings}
    return event_streams_of(
        load_settings(PROXY, None, given),
        Traffic(clock),
        clock,
        login=None,
        terminator=terminator,
        is_secured=is_secured,
    )


async def answer(endpoint: EventsEndpoint, user: str = "alice") -> tuple[int, bytes]:
    """Ask for the events of a filter; nothing runs, so the best answer is 503."""
    request: Any = ClientRequest("GET", f"/v1/events?filter=f&user.name={user}", ())
    response = cast("Any", await endpoint.handle(request))
    return response.status, response.whole_body


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"glob": ("/a",)}, b"start a publisher, and give the proxy zookeeper and nameservice"),
        (ZOOKEEPER | {"max_event_streams": 0}, b"max_event_streams is 0"),
    ],
)
async def test_where_none_are_served(settings: dict[str, object], told: bytes) -> None:
    """It says what to set."""
    status, body = await answer(built(settings))
    assert status == 501
    assert told in body


async def test_user_name_is_believed_without_kerberos_alone() -> None:
    """With it a proxy that does not authenticate believes nobody, and one that does asks for a ticket."""
    assert (await answer(built(ZOOKEEPER)))[0] == 503
    assert (await answer(built(ZOOKEEPER), ""))[0] == 400
    assert (await answer(built(ZOOKEEPER, is_secured=True)))[0] == 403
    terminator = Scene().terminator
    assert (await answer(built(ZOOKEEPER, is_secured=True, terminator=terminator)))[0] == 401
