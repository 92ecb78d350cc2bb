"""The servers whose hits are counted do what they are counted for, and their CPU time is what they have used."""

import http.client
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nncache.bench.hit_path import BODY, GLOB, SERVERS, TARGET, cpu_s_of, measure, run
from nncache.cache.settings import CacheSettings


@contextmanager
def serving(name: str) -> Iterator[http.client.HTTPConnection]:
    """Run one of the servers in a process of its own; yield a connection to it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(name, theirs), daemon=True)
    with ours, theirs:
        process.start()
        try:
            assert ours.poll(60)
            connection = http.client.HTTPConnection("127.0.0.1", ours.recv(), timeout=30)
            yield connection
            connection.close()
        finally:
            process.terminate()
            process.join()
            process.close()


def asked(connection: http.client.HTTPConnection) -> tuple[int, bytes, str]:
    """Return status, body and what the server says of its cache."""
    connection.request("GET", TARGET)
    reply = connection.getresponse()
    return reply.status, reply.read(), reply.headers.get("Cache-Status", "")


@pytest.mark.parametrize("name", SERVERS)
def test_all_servers_give_the_same_answer_and_proxies_from_memory(name: str) -> None:
    """Soon after its start a proxy has hits, and goes on so; else other work would be counted."""
    with serving(name) as connection:
        replies = [asked(connection) for _ in range(3)]
        if name.startswith("proxy"):
            time.sleep(CacheSettings(glob=(GLOB,)).max_staleness_s + 0.5)  # what was not covered anew is over
        replies += [asked(connection) for _ in range(3)]
    assert {(status, body) for status, body, _ in replies} == {(404, BODY)}
    assert all(("hit" in said) is name.startswith("proxy") for _, _, said in replies[3:])


def test_cpu_time_is_that_of_the_process() -> None:
    """As the process itself counts it, in hundredths of a second; work adds to it."""
    before = cpu_s_of(os.getpid())
    assert before == pytest.approx(time.process_time(), abs=0.1)
    until_s = time.process_time() + 0.2
    while time.process_time() < until_s:
        pass
    assert cpu_s_of(os.getpid()) - before == pytest.approx(0.2, abs=0.1)


@pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
def test_a_server_is_measured_under_load() -> None:
    """For a second; what was answered while it warmed up does not count."""
    done = measure("plain aiohttp handler", 1)
    assert done.requests > 100
    assert done.wall_s >= 0.9
    assert 0 < done.cpu_s < done.wall_s + 0.1
