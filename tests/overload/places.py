"""The namespace of all attacks, and the clients' addresses."""

from typing import Final

GLOBS: Final = ("/user/*/workflow/*/*/*/_SUCCESS", "/user/alice/workflow/2026/11/22/*", "/top/*")

POLLED_DIRECTORY: Final = "/user/alice/workflow/2026/11/22"
ABSENT: Final = tuple(f"{POLLED_DIRECTORY}/part-{number:03}" for number in range(80)) + tuple(
    f"/user/joe/workflow/2026/11/{day:02}/_SUCCESS" for day in range(1, 21)
)
PRESENT: Final = tuple(f"{POLLED_DIRECTORY}/done-{number:02}" for number in range(20))
FLIPPED: Final = f"{POLLED_DIRECTORY}/now-and-then"

SHAPED: Final = "/top/a"
"""The path in the requests of `tests.hostile.shapes`."""

OUTSIDE: Final = "/data/small"
"""A directory with a few entries that no filter concerns."""

LARGE: Final = "/data/large"
"""A directory whose listing fills every buffer on the way: `LARGE_ENTRIES` names of HDFS's maximum length."""
LARGE_ENTRIES: Final = 16_000

OPEN_TO_ALL: Final = "/data/carol"
PRIVATE_HOMES: Final = ("bob", "carol", "dave")
"""Each of these users has a home of mode 700 that contains `mine`."""

POLLERS: Final = tuple(f"127.0.1.{number}" for number in range(1, 13))
FORWARDERS: Final = tuple(f"127.0.2.{number}" for number in range(1, 7))
NEWCOMERS: Final = ("127.0.4.1",)
WITNESSES: Final = ("127.0.5.1", "127.0.5.2")
ATTACKER: Final = "127.0.3.1"
ATTACKERS: Final = tuple(f"127.0.3.{number}" for number in range(1, 21))
