"""Pages that show paths and users are for operators only."""

from base64 import b64encode

import pytest

from nncache.admin.access import Access, AccessDenied, AccessGranted, Token

TOKEN = "0123456789abcdef"
TOKENS = (Token("fedcba9876543210", "joe"), Token(TOKEN))
BEARER = f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("peer", "host", "refused"),
    [
        ("127.0.0.1", "127.0.0.1:9872", False),
        ("127.8.9.1", "localhost", False),
        ("::1", "[::1]:9872", False),
        ("::ffff:127.0.0.1", "LOCALHOST:9872", False),
        ("127.0.0.1", "admin.example:9872", False),
        ("127.0.0.1", "proxy7:9872", False),
        ("127.0.0.1", "attacker.example", True),
        ("127.0.0.1", "", True),
        ("127.0.0.1", None, True),
        ("10.0.0.1", "127.0.0.1:9872", True),
        ("", "127.0.0.1:9872", True),
        (None, "127.0.0.1:9872", True),
        ("no address", "127.0.0.1:9872", True),
    ],
)
def test_without_a_token_this_host_may_by_its_own_names(
    peer: str | None, host: str | None, refused: bool
) -> None:
    """No other host may, nor a page of another site in an operator's browser."""
    judged = Access("admin.example", names=["Proxy7"]).judge(peer, host, BEARER)
    assert isinstance(judged, AccessDenied) is refused
    assert not isinstance(judged, AccessDenied) or judged.status == 403


@pytest.mark.parametrize(
    ("authorization", "refused"),
    [
        (BEARER, False),
        (f"bearer  {TOKEN} ", False),
        (None, True),
        ("Bearer", True),
        (f"Basic {TOKEN}", True),
        (f"Basic {b64encode(f'joe:{TOKEN}'.encode()).decode()}", False),
        (f"Basic {b64encode(f'{TOKEN}:joe'.encode()).decode()}", True),
        (f"Basic {b64encode(TOKEN.encode()).decode()}", True),
        ("Basic \u00e9", True),
        (f"Digest {TOKEN}", True),
        ("Bearer \u00e9", True),
        (BEARER + "x", True),
    ],
)
@pytest.mark.parametrize("peer", ["127.0.0.1", "10.0.0.1"])
def test_with_a_token_the_token_counts(peer: str, authorization: str | None, refused: bool) -> None:
    """It is required on this host, too, where others than operators may run programs."""
    judged = Access("127.0.0.1", TOKENS).judge(peer, "anything", authorization)
    assert isinstance(judged, AccessDenied) is refused
    if isinstance(judged, AccessDenied):
        assert (judged.status, "Authorization: Bearer" in judged.why) == (401, True)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, None),
        ("http://127.0.0.1:9872", None),
        ("http://localhost:9872", 403),
        ("http://127.0.0.1:80", 403),
        ("http://attacker.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
@pytest.mark.parametrize("tokens", [(), TOKENS])
def test_no_other_site_may_have_a_browser_change_anything(
    origin: str | None, status: int | None, tokens: tuple[Token, ...]
) -> None:
    """A browser sends the Origin of a POST, and adds the credentials that it has stored."""
    judged = Access("127.0.0.1", tokens).judge_change("127.0.0.1", "127.0.0.1:9872", BEARER, origin)
    assert (judged.status if isinstance(judged, AccessDenied) else None) == status


def test_what_may_not_be_seen_may_not_be_changed() -> None:
    """A page's own access rule is checked first."""
    access = Access("127.0.0.1", TOKENS)
    judged = access.judge_change("127.0.0.1", "127.0.0.1:9872", None, "http://127.0.0.1:9872")
    assert isinstance(judged, AccessDenied)
    assert judged.status == 401


def test_a_reader_sees_and_changes_nothing() -> None:
    """The holder of a token is known by name."""
    access = Access("h", (Token(TOKEN, "ann", may_change=False), Token("fedcba9876543210", "joe")))
    asked = ("10.0.0.1", "h", BEARER)
    assert access.judge(*asked) == AccessGranted("ann", may_change=False)
    judged = access.judge_change(*asked, None)
    assert isinstance(judged, AccessDenied)
    assert (judged.status, "admin_token_file" in judged.why) == (403, True)
    assert access.judge_change("10.0.0.1", "h", "Bearer fedcba9876543210", None) == AccessGranted(
        "joe", may_change=True
    )


def test_a_token_is_not_printed() -> None:
    """A printed token would end up in a log."""
    assert TOKEN not in repr(TOKENS)
