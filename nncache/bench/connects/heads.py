"""What is asked, and what shows that it was answered from memory."""

from typing import Final

PATHS: Final = 100
ROOT: Final = "/bench-connects"
_HIT: Final = b"\r\nCache-Status: nncache; hit\r\n"


def path_of(number: int) -> str:
    """Return one of the paths that are polled."""
    return f"{ROOT}/{number % PATHS}"


def heads_for(address: str) -> tuple[bytes, ...]:
    """Return the request for each path."""
    return tuple(
        (
            f"GET /webhdfs/v1{path_of(number)}?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\n"
            f"Host: {address}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
        ).encode()
        for number in range(PATHS)
    )


def as_new(head: bytes, number: int) -> bytes:
    """Return the request with a field that no other one has, so that none is known by its bytes."""
    return head.removesuffix(b"\r\n") + b"X-Number: %d\r\n\r\n" % number


def is_whole(reply: bytes) -> bool:
    """Whether a status has been read to its end; those that are polled hold no braces of their own."""
    return reply.endswith(b"}}")


def is_good(reply: bytes) -> bool:
    """Whether it is a status at all."""
    return reply.startswith(b"HTTP/1.1 200 ") and is_whole(reply)


def is_hit(reply: bytes) -> bool:
    """Whether it came from memory, so that the gate was open."""
    return _HIT in reply
