"""A block means to a plain call what the ordinary path made of it, and no cookie is held for that."""

from typing import Final

import pytest

from nncache.proxy.cache_directives import CacheDirective
from nncache.proxy.credentials import Credential
from nncache.proxy.headers import encode_fields, request_headers
from nncache.proxy.messages import Header, Headers
from nncache.proxy.plain_blocks import MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_SECRET_BLOCKS, PlainBlocks, fields_of
from tests.hadoop.made_credentials import cookie
from tests.proxy.plain_fixture import plain_fixture
from tests.proxy.test_plain_fills import ASK, GONE, MISS, STORED
from tests.proxy.wire import RawNameNode, says

HOST: Final = (b"Host", b"nn")
AGENT: Final = (b"User-Agent", b"x")
ALIVE: Final = (b"Connection", b"keep-alive")
COOKIE: Final = (b"Cookie", cookie("alice"))


def block_of(*fields: Header) -> bytes:
    """Write a block."""
    return encode_fields(fields) + b"\r\n"


@pytest.mark.parametrize(
    "fields",
    [
        (HOST, AGENT),
        (HOST, ALIVE, AGENT),
        (ALIVE, HOST),
        (HOST, COOKIE),
        (ALIVE, HOST, COOKIE, (b"Keep-Alive", b"5"), AGENT, (b"Pragma", b"no-cache")),
        (HOST, COOKIE, ALIVE),
        (HOST, (b"Cookie", b"a=b"), (b"Cookie", b"c=d")),
    ],
)
def test_the_same_goes_to_the_namenode(fields: Headers) -> None:
    """What the ordinary path would send, in the same bytes."""
    blocks, block = PlainBlocks(), block_of(*fields)
    assert blocks.find(block) is None
    blocks.learn(block, fields)
    blocks.learn(block, fields)
    known = blocks.find(block)
    assert known is not None
    kept = request_headers(fields, "")[:-1]
    assert known.text_of(block) == encode_fields(kept)
    assert fields_of(known.text_of(block)) == kept
    assert (block in blocks.without_credential) == (b"ookie" not in block)


@pytest.mark.parametrize(
    "fields",
    [
        (AGENT,),
        (HOST, (b"Expect", b"100-continue")),
        (HOST, (b"Authorization", b"Negotiate x")),
        (HOST, COOKIE, (b"X-Any", b"x")),
        (HOST, COOKIE, COOKIE),
        (HOST, (b"Cookie", b"hadoop.auth=what")),
        (HOST, COOKIE, (b"Transfer-Encoding", b"chunked")),
        (HOST, (b"User-Agent", b"x" * MAX_BLOCK_BYTES)),
    ],
)
def test_what_is_not_certain_is_left(fields: Headers) -> None:
    """No host, what a parser has to see to, another credential than one cookie, any field that is not known."""
    blocks, block = PlainBlocks(), block_of(*fields)
    blocks.learn(block, fields)
    assert blocks.find(block) is None


def test_a_cookie_is_spelled_as_it_goes_on_or_left() -> None:
    """Without one the spelling is of no consequence, since the text is kept."""
    for spelled, fields in (
        (b"Host:nn\r\n\r\n", (HOST,)),
        (b"Host: nn\r\nCookie:a=b\r\n\r\n", (HOST, (b"Cookie", b"a=b"))),
    ):
        blocks = PlainBlocks()
        blocks.learn(spelled, fields)
        known = blocks.find(spelled)
        assert (known is None) == (b"Cookie" in spelled)
        assert known is None or known.text_of(spelled) == b"Host: nn\r\n"


def test_whose_a_cookie_is_and_what_the_cache_may_do() -> None:
    """As on the ordinary path; a cookie for `user.name` is no credential."""
    blocks = PlainBlocks()
    for kind, is_credential in (("kerberos", True), ("simple", False)):
        fields = (HOST, (b"Cookie", cookie("alice", kind=kind)), (b"Cache-Control", b"no-cache"))
        block = block_of(*fields)
        blocks.learn(block, fields)
        known = blocks.find(block)
        assert known is not None
        assert isinstance(known.credential, Credential) == is_credential
        assert known.user == ("alice" if is_credential else None)
        assert known.directive is CacheDirective.REFRESH


def test_no_byte_of_a_cookie_is_held() -> None:
    """B2: neither its signature nor the block."""
    blocks, secret = PlainBlocks(), b"c2VjcmV0"
    fields = (HOST, (b"Cookie", cookie("alice", signature=secret.decode())))
    blocks.learn(block_of(*fields), fields)
    assert blocks.find(block_of(*fields)) is not None
    assert blocks.find(block_of(HOST, COOKIE)) is None, "another cookie"
    held = repr((blocks.without_credential, blocks._secret))  # noqa: SLF001 - what is held
    assert secret.decode() not in held
    assert "Host" not in held


def test_blocks_are_bounded() -> None:
    """The newest go; one kind does not push the other out."""
    blocks = PlainBlocks()
    for number in range(MAX_SECRET_BLOCKS + 2):
        fields: Headers = (HOST, (b"Cookie", b"a=%d" % number))
        blocks.learn(block_of(*fields), fields)
        fields = (HOST, (b"User-Agent", b"%d" % number))
        blocks.learn(block_of(*fields), fields)
    assert len(blocks._secret) == MAX_SECRET_BLOCKS  # noqa: SLF001 - the bound
    assert len(blocks._open) == MAX_BLOCKS  # noqa: SLF001 - the bound
    assert blocks.find(block_of(HOST, (b"Cookie", b"a=0"))) is not None
    assert blocks.find(block_of(HOST, (b"Cookie", b"a=%d" % MAX_SECRET_BLOCKS))) is None
    assert blocks.find(block_of(HOST, (b"Cookie", b"a=%d" % (MAX_SECRET_BLOCKS + 1)))) is not None


@pytest.mark.parametrize("times", [1, 2])
def test_blocks_in_use_stay_whatever_else_is_sent(times: int) -> None:
    """B3: also where each of the others comes twice; a new kind of client is known as soon as it comes again."""
    blocks = PlainBlocks()

    def come(agent: bytes) -> bool:
        fields: Headers = (HOST, (b"User-Agent", agent))
        if blocks.find(block_of(*fields)) is not None:
            return True
        blocks.learn(block_of(*fields), fields)
        return False

    assert [come(b"poller"), come(b"poller")] == [False, True]
    for number in range(3 * MAX_BLOCKS):
        for _ in range(times):
            come(b"%d" % number)
        if number % 16 == 0:
            assert come(b"poller"), number
    assert [come(b"new"), come(b"new"), come(b"new"), come(b"poller")] == [False, True, True, True]


async def test_a_miss_with_a_cookie_proves_that_cookie_alone() -> None:
    """It needs no parser either; whose reply sets a cookie proves nothing (decision 18)."""
    dated = GONE.replace(b"\r\n", b"\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT\r\n", 1)
    renewed = dated.replace(b"\r\n", b"\r\nSet-Cookie: a=b\r\n", 1)
    ours, theirs = (
        ASK.replace(b"&user.name=joe", b"").replace(b"Accept: */*", b"Cookie: " + cookie(user))
        for user in ("alice", "bob")
    )
    async with RawNameNode(says(dated)) as namenode, plain_fixture(namenode) as s:
        for request in (ours, theirs):
            await s.learn(request.replace(b"/f?", b"/other?"))
        assert s.calls.requests == 0
        made = [(await s.ask(request)).all(b"Cache-Status") for request in (ours, ours, theirs, theirs)]
        assert made[:2] == [STORED, [b"nncache; hit"]]
        assert made[2] != [b"nncache; hit"], "bob is another caller"
        assert made[3] == [b"nncache; hit"]
        assert s.calls.requests >= 1
        assert all(b"Cookie: hadoop.auth=" in head for head in namenode.heads)
        assert s.is_quiet
    async with RawNameNode(says(renewed)) as namenode, plain_fixture(namenode) as s:
        await s.learn(ours.replace(b"/f?", b"/other?"))
        for _ in range(2):
            assert (await s.ask(ours)).all(b"Cache-Status") == MISS
        assert s.calls.requests == 2
