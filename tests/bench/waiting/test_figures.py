"""What clients that wait must see is judged by what was measured."""

from dataclasses import replace

from nncache.bench.connects.figures import Times
from nncache.bench.waiting.figures import AIM_BYTES, Delivered, Held, lines, verdicts

HELD = Held(
    clients=10,
    paths=2,
    before_bytes=1_000_000,
    idle_bytes=1_000_000 + 10 * 1_024,
    waiting_bytes=1_000_000 + 10 * AIM_BYTES,
    asked_s=1.0,
    asked_cpu_s=0.5,
    quiet_s=10.0,
    forwarded=0,
    file_calls=0,
    rpc_calls=0,
    gate_calls=100,
    cpu_s=0.1,
)
DELIVERED = Delivered(
    how="two files",
    clients=10,
    paths=2,
    after_ack=Times(10, 0.05, 1.0, 1.2),
    failed=0,
    files_s=1.0,
    answers_s=1.5,
    namenode_calls=4,
    others=Times(100, 0.001, 0.1, 0.2),
    stalls=0,
    longest_s=0.04,
    cpu_s=0.3,
    clients_cpu_s=0.1,
)


def falls_short(held: Held = HELD, delivered: Delivered = DELIVERED) -> list[str]:
    """Return what is not met."""
    return [each.what for each in verdicts(held, [delivered]) if not each.is_met]


def test_all_is_met_at_the_limits() -> None:
    """Of memory, latency, and what others notice."""
    assert not falls_short()
    assert len(verdicts(HELD, [DELIVERED])) == 5


def test_each_figure_can_fall_short() -> None:
    """One verdict each."""
    for held in (
        replace(HELD, forwarded=1),
        replace(HELD, file_calls=1),
        replace(HELD, rpc_calls=1),
        replace(HELD, gate_calls=0),
    ):
        assert falls_short(held) == ["no call of the NameNode while they wait, but the gate's own"]
    (memory,) = falls_short(replace(HELD, waiting_bytes=HELD.waiting_bytes + 1))
    assert memory == "memory for each client that waits at most 8 KiB"
    for delivered, words in (
        (replace(DELIVERED, failed=1), "each client has its answer"),
        (replace(DELIVERED, after_ack=Times(10, 0.05, 1.001, 1.2)), "p99 at most 1 s"),
        (replace(DELIVERED, after_ack=Times(0, 0.0, 0.0, 0.0)), "p99 at most 1 s"),
        (replace(DELIVERED, others=Times(100, 0.001, 0.101, 0.2)), "polls of others"),
        (replace(DELIVERED, others=Times(0, 0.0, 0.0, 0.0)), "polls of others"),
        (replace(DELIVERED, stalls=1), "polls of others"),
    ):
        (what,) = falls_short(delivered=delivered)
        assert what.startswith(f"two files: {words}")


def test_its_lines_say_all_of_it() -> None:
    """For people."""
    begun, memory, quiet, two_files = lines(HELD, [DELIVERED])
    assert begun == "10 clients wait for 2 paths: held after 1.00 s, 0.50 s of the proxy's CPU"
    assert memory == "memory for each: 8.0 KiB, of which its connection alone takes 1.0 KiB"
    assert quiet == "10 s of waiting: 0.10 s of the proxy's CPU, 100 calls of the gate"
    assert two_files.startswith(
        "two files: p50 50 ms, p99 1000 ms, worst 1200 ms after the acknowledgement; "
    )
    assert "4 calls of the NameNode" in two_files
