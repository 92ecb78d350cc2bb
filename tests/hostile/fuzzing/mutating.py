"""Inputs derived from others by seeded mutations."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

_WORDS: Final = (
    b"\0", b"\n", b"\r\n", b"\r\n\r\n", b"/", b"//", b"/../", b"%2F", b"%00", b"%zz", b";", b"?", b"#", b"&", b"=",
    b",", b":", b'"', b"\\", b"{", b"}", b"[", b"]", b"[[[[[[[[", b"*", b"-1", b"0", b"9223372036854775808", b"1e999",
    b"null", b"true", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\\u0000", b"\\ud800", b"\xff\xff\xff\xff\x0f",
    b" ", b"\t",
)  # fmt: skip


def mutated(bases: Sequence[bytes], count: int, max_bytes: int, seed: int) -> Iterator[bytes]:
    """Yield `count` inputs, each one of the bases with one to four mutations; a seed reproduces them."""
    chance = random.Random(seed)
    for _ in range(count):
        data = chance.choice(bases)
        for _ in range(1 + chance.randrange(4)):
            data = _changed(data, chance, bases)
        yield data[:max_bytes]


def _changed(data: bytes, chance: random.Random, bases: Sequence[bytes]) -> bytes:
    at, end = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
    match chance.randrange(6):
        case 0:
            return data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]
        case 1:
            return data[:at] + chance.choice(_WORDS) + data[at:]
        case 2:
            return data[:at] + chance.choice(_WORDS) + data[end:]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:end] + data[at:end] + data[end:]
        case _:
            other = chance.choice(bases)
            return data[:at] + other[chance.randrange(len(other) + 1) :]
