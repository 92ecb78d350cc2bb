"""Blocks of header fields that a plain call may have.

A block is what stands behind a request line, with the empty line. It is known once the ordinary path has parsed and
vetted it, byte for byte; what it says of itself is not asked again.
"""

import hashlib
import secrets
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.calls import StatusRequest
from nncache.proxy.cache_directives import CacheDirective, cache_directive_of
from nncache.proxy.clients.fastpath import HARMLESS_FIELDS, is_harmless
from nncache.proxy.credentials import Credential, Unclear, authentication_of, claimed_user
from nncache.proxy.headers import encode_fields, request_headers
from nncache.proxy.messages import Header, Headers

MAX_BLOCKS: Final = 256
"""Blocks without a credential: as many kinds of client."""

MAX_SECRET_BLOCKS: Final = 4_096
"""Blocks with a cookie, known by their digests: as many clients."""

MAX_BLOCK_BYTES: Final = 2_048
_LEFT_TO_THE_PARSER: Final = frozenset({b"content-length", b"expect", b"te", b"transfer-encoding"})
_WITH_COOKIE: Final = HARMLESS_FIELDS | {b"cookie"}
_OF_NO_TOKEN: Final = StatusRequest(path="/", as_requested="/", user_name=None, doas=None, delegation=None)


@dataclass(slots=True)
class Block:
    """What a known block means.

    Attributes:
        text: what goes to the NameNode of it, but for `X-Forwarded-For`; None if that may be a secret.
        passed_on: which bytes of the block that is then, from and to.
        directive: how far the cache may take part.
        credential: what its cookie is, if that authenticates a plain read.
        user: whom that cookie names.
        is_used: it was found again since it was learned, or since room was needed that none but used ones had.
    """

    text: bytes | None
    passed_on: tuple[tuple[int, int], ...]
    directive: CacheDirective
    credential: Credential | None
    user: str | None
    is_used: bool = False

    def text_of(self, block: bytes) -> bytes:
        """Return what of the block goes to the NameNode."""
        if self.text is not None:
            return self.text
        return b"".join([block[begin:end] for begin, end in self.passed_on])


def fields_of(text: bytes) -> Headers:
    """Return the fields of what `Block.text_of` has returned."""
    lines = [line.partition(b": ") for line in text.split(b"\r\n")[:-1]]
    return tuple([(name, value) for name, _, value in lines])


class PlainBlocks:
    """The known ones.

    Invariants:
        B1  A block is known only if the ordinary path has taken it for the fields of one vetted GET without a body
            that leaves its connection open, and if it certainly carries no credential but a cookie.
        B2  No byte of a block with a cookie is held: a keyed digest stands for it, and one for the cookie.
        B3  Where there is no room, the newest goes that was not found again: heads that differ each time push out
            each other, and nothing that others use.
    """

    def __init__(self) -> None:
        self._open: dict[bytes, Block] = {}  # in the order in which they were learned, here and there
        self._secret: dict[bytes, Block] = {}  # by the digest
        self._keyed = hashlib.sha256(secrets.token_bytes(64))  # of this process

    @property
    def without_credential(self) -> Container[bytes]:
        """The known blocks that carry none."""
        return self._open

    def find(self, block: bytes) -> Block | None:
        """Return what a block means; None if it is not known."""
        known = self._open.get(block)
        if known is None and self._secret and b"ookie:" in block:
            known = self._secret.get(self._digest(block))
        if known is not None:
            known.is_used = True
        return known

    def learn(self, block: bytes, fields: Headers) -> None:
        """Take note of the block of a vetted GET, of which the ordinary path has made these fields."""
        if len(block) > MAX_BLOCK_BYTES or self.find(block) is not None:
            return
        names = {name.lower() for name, _ in fields}
        if names & _LEFT_TO_THE_PARSER or b"host" not in names:
            return
        kept, directive = request_headers(fields, "")[:-1], cache_directive_of(fields)
        if is_harmless(b"\r\n" + block):
            _put(self._open, block, Block(encode_fields(kept), (), directive, None, None), MAX_BLOCKS)
            return
        passed_on, credential = _passed_on(block, kept), authentication_of(_OF_NO_TOKEN, fields)
        if names <= _WITH_COOKIE and passed_on is not None and credential is not Unclear.UNCLEAR:
            known = Block(None, passed_on, directive, credential, claimed_user(fields))
            _put(self._secret, self._digest(block), known, MAX_SECRET_BLOCKS)

    def _digest(self, block: bytes) -> bytes:
        digest = self._keyed.copy()
        digest.update(block)
        return digest.digest()


def _put(blocks: dict[bytes, Block], key: bytes, block: Block, most: int) -> None:
    """Keep a block (B3)."""
    if len(blocks) >= most:
        del blocks[_to_go(blocks)]
    blocks[key] = block


def _to_go(blocks: dict[bytes, Block]) -> bytes:
    newest = next((key for key in reversed(blocks) if not blocks[key].is_used), None)
    if newest is not None:
        return newest
    for block in blocks.values():  # all have been used since this was done last
        block.is_used = False
    return next(reversed(blocks))


def _passed_on(block: bytes, kept: tuple[Header, ...]) -> tuple[tuple[int, int], ...] | None:
    """Say where in a block these fields stand; None if it does not spell each as it goes to the NameNode."""
    ranges: list[tuple[int, int]] = []
    at = 0
    for field in kept:
        line = encode_fields((field,))
        while not block.startswith(line, at):
            at = block.find(b"\r\n", at) + 2
            if at >= len(block) or at == 1:
                return None
        if ranges and ranges[-1][1] == at:
            ranges[-1] = ranges[-1][0], at + len(line)
        else:
            ranges.append((at, at + len(line)))
        at += len(line)
    return tuple(ranges)
