"""Polls go on, whatever becomes of the server."""

import asyncio
from collections import Counter

import pytest

from nncache.bench.events import polling
from nncache.bench.events.polling import Pollers, outcome_of
from nncache.bench.events.seconds import ASKED, FAILED, MEMORY
from nncache.bench.polling.replies import Reply

HIT = b"HTTP/1.1 200 OK\r\nCache-Status: nncache; hit\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(200, "hit", b"", keeps=True), MEMORY),
        (Reply(404, "hit", b"", keeps=True), MEMORY),
        (Reply(200, "miss", b"", keeps=True), ASKED),
        (Reply(404, "", b"", keeps=True), ASKED),
        (Reply(503, "", b"", keeps=True), FAILED),
        ("connection closed", FAILED),
    ],
)
def test_what_a_reply_means(reply: Reply | str, outcome: str) -> None:
    """An error of the proxy is a failure for who polls."""
    assert outcome_of(reply) == outcome


async def test_each_poller_polls_at_its_times() -> None:
    """Spread over the period; a server that is away costs its own polls, and no later one."""
    is_away = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n")
            if is_away:
                break
            writer.write(HIT)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        pollers = Pollers(f"{host}:{port}", (b"GET /1 HTTP/1.1\r\n\r\n", b"GET /2 HTTP/1.1\r\n\r\n"), 0.1)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(pollers.run(1.0))
            while len(pollers.polls) < 5:  # noqa: ASYNC110 - what is waited for is a list
                await asyncio.sleep(0.01)
            is_away = True
            while pollers.polls[-1].outcome != FAILED:  # noqa: ASYNC110 - the same
                await asyncio.sleep(0.01)
            is_away = False
            await running
    assert sorted(round(poll.due_s, 6) for poll in pollers.polls) == pytest.approx(
        [number * 0.05 for number in range(20)]
    )
    found = Counter(poll.outcome for poll in pollers.polls)
    assert found[FAILED] >= 1
    assert pollers.polls[-1].outcome == MEMORY or found[FAILED] < 20
    assert all(poll.took_s >= 0 for poll in pollers.polls)


async def test_a_server_that_is_silent_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The poll has failed then, and the next one is sent."""
    monkeypatch.setattr(polling, "GIVE_UP_S", 0.05)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        pollers = Pollers(f"{host}:{port}", (b"GET / HTTP/1.1\r\n\r\n",), 0.01)
        await pollers.run(0.02)
    assert [poll.outcome for poll in pollers.polls] == [FAILED, FAILED]
    assert pollers.polls[1].took_s >= 0.09, "from when it was due: it waited for the one before"
