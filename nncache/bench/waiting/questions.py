"""What is waited for, and what an answer says.

Pure. Each series has files of its own, which do not exist before it; some callers wait for each of them.
"""

from dataclasses import dataclass
from typing import Final

ROOT: Final = "/bench-waiting"
GLOB: Final = f"{ROOT}/*/*/_SUCCESS"
WAIT_S: Final = 50
"""For which a client would wait: `max_wait_s` of a proxy whose settings say nothing of it."""

USERS: Final = 50
"""In all; a path's callers are some of them."""

_OK: Final = b"HTTP/1.1 200 "
_APPLIED: Final = b"\r\nPreference-Applied: wait="


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Files that are waited for at once.

    Attributes:
        name: of the directory.
        paths: how many.
        callers: of each path; its clients are theirs in turn.
    """

    name: str
    paths: int
    callers: int

    def path(self, number: int) -> str:
        """Return the path of one of the files."""
        return f"{ROOT}/{self.name}/{number:05}/_SUCCESS"

    def path_of(self, client: int) -> int:
        """Return the number of the path that a client waits for."""
        return client % self.paths

    def request(self, client: int, address: str) -> bytes:
        """Return what a client sends."""
        number = self.path_of(client)
        user = f"user{(number + client // self.paths % self.callers) % USERS}"
        return (
            f"GET /webhdfs/v1{self.path(number)}?op=GETFILESTATUS&user.name={user} HTTP/1.1\r\n"
            f"Host: {address}\r\nUser-Agent: bench\r\nAccept: */*\r\nPrefer: wait={WAIT_S}\r\n\r\n"
        ).encode()


def is_whole(reply: bytes) -> bool:
    """Whether an answer has been read to its end; a status and an exception of these paths end alike."""
    return reply.endswith(b"}}")


def is_granted(reply: bytes) -> bool:
    """Whether the wait was granted; else the client should pause before it asks again."""
    return _APPLIED in reply


def is_there(reply: bytes) -> bool:
    """Whether it shows the file."""
    return reply.startswith(_OK)
