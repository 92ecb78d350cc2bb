"""Connects: each is counted by its answer, and each asks what it is to ask."""

import gc
import multiprocessing
import socket
import threading

import pytest

from nncache.bench.connects import storm
from nncache.bench.connects.heads import PATHS, path_of
from nncache.bench.connects.storm import Storm, Stormed, run
from tests.bench.connects.test_heads import HIT, MISS, REFUSED
from tests.bench.polling_server import Act, Script, serving


def test_each_connect_is_answered() -> None:
    """All are open at once; what is no hit, and what fails, is counted."""
    script = Script(
        {
            path_of(0): (Act(data=MISS),),
            path_of(1): (Act(data=REFUSED),),
            path_of(2): (Act(data=b"", then="reset"),),
            path_of(3): (Act(data=b"", then="close"),),
            path_of(4): (Act(data=HIT, split=9),),
            **{path_of(number): (Act(data=HIT),) for number in range(5, PATHS)},
        }
    )
    with serving(script) as address:
        done = Storm(address, PATHS, is_cold=False).run()
    assert (done.failed, done.forwarded, len(done.took)) == (3, 1, PATHS)
    assert script.connections == PATHS
    assert script.most_at_once >= PATHS - 2
    assert 0 < done.connects_s <= done.answered_s
    assert all(0 < took <= done.answered_s for took in done.took)
    assert done.cpu_s > 0


def test_what_is_not_answered_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while."""
    monkeypatch.setattr(storm, "TIMEOUT_S", 0.2)
    with serving(Script({path_of(0): (Act(data=b""),)})) as address:
        done = Storm(address, 3, is_cold=False).run()
    assert (done.failed, len(done.took)) == (1, 2)


def test_a_connect_that_is_refused_has_failed() -> None:
    """Nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        done = Storm(f"127.0.0.1:{sock.getsockname()[1]}", 3, is_cold=False).run()
    assert done.failed == 3


def test_a_connect_waits_for_room_in_the_backlog() -> None:
    """Its request is sent when it is connected."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)

        def serve() -> None:
            for _ in range(6):
                accepted, _ = listener.accept()
                accepted.recv(4096)
                accepted.sendall(HIT)
                served.append(accepted)

        served: list[socket.socket] = []
        made = Storm(f"127.0.0.1:{listener.getsockname()[1]}", 6, is_cold=False)
        thread = threading.Thread(target=serve)
        begin = threading.Timer(0.3, thread.start)
        begin.start()
        done = made.run()
        begin.join()
        thread.join()
        for accepted in served:
            accepted.close()
    assert (done.failed, len(done.took)) == (0, 6)


def test_cold_heads_are_new_in_every_storm() -> None:
    """No server can have seen them."""
    made = [Storm("127.0.0.1:1", 10, is_cold=True) for _ in range(2)]
    connects = [each for one in made for each in one._made.values()]  # noqa: SLF001 - what is sent
    for each in connects:
        each.sock.close()
    assert len({each.head for each in connects}) == 20


def test_a_process_begins_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ready before, and reports afterwards."""
    monkeypatch.setattr(gc, "disable", lambda: None)  # this process is the tests'
    ours, theirs = multiprocessing.Pipe()
    with serving(Script()) as address:
        thread = threading.Thread(target=run, args=(theirs, address, 5))
        thread.start()
        assert ours.recv() is None
        assert not ours.poll(0.05)
        ours.send(None)
        done = ours.recv()
        thread.join()
    assert isinstance(done, Stormed)
    assert (done.failed, done.forwarded) == (0, 5)  # the script's own replies come from no memory
