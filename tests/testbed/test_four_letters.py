"""What a ZooKeeper says of itself."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from nncache.testbed import Cluster, four_letters


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Start a server that gives this answer once, in two parts; returns its address."""
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> str:
        server = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            connection, _ = server.accept()
            with server, connection:
                connection.recv(16)
                connection.sendall(answer[:20])
                connection.sendall(answer[20:])

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield start
    for thread in threads:
        thread.join()


def test_every_word_that_is_allowed_is_answered(cluster: Cluster) -> None:
    """People at a terminal use them too."""
    assert cluster.zookeeper is not None
    for word in four_letters.ALLOWED:
        assert "whitelist" not in four_letters.ask(cluster.zookeeper.address, word)


def test_transactions_are_counted_within_the_epoch(answering: Callable[[bytes], str]) -> None:
    """Its upper half is another count, of leaders (ZxidUtils)."""
    answer = b"Zookeeper version: 3.8.6\nZxid: 0x10000002a\nMode: leader\n"
    assert four_letters.transactions(answering(answer)) == 42


def test_a_figure_is_found_by_its_whole_name(answering: Callable[[bytes], str]) -> None:
    """Names begin alike, and averages have a fraction."""
    answer = b"zk_watch_count_max\t9\nzk_watch_count\t3\nzk_avg_latency\t0.5\n"
    assert four_letters.monitored(answering(answer), "zk_watch_count") == 3
    assert four_letters.monitored(answering(answer), "zk_avg_latency") == 0


@pytest.mark.parametrize(
    "question", [four_letters.transactions, lambda at: four_letters.monitored(at, "zk_x")]
)
def test_who_does_not_serve_yet_has_no_figures(
    answering: Callable[[bytes], str], question: Callable[[str], int]
) -> None:
    """ZooKeeper says so in words while it starts."""
    with pytest.raises(OSError, match="does not serve yet"):
        question(answering(b"This ZooKeeper instance is not currently serving requests\n"))
