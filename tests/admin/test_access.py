"""Pages with paths and users are for operators."""

from base64 import b64encode

import pytest

from nncache.admin.access import Access

TOKEN = "0123456789abcdef"
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
    """From elsewhere nobody may, and no page of another site in an operator's browser."""
    refusal = Access("admin.example", names=["Proxy7"]).refusal(peer, host, BEARER)
    assert (refusal is not None) is refused
    assert refusal is None or refusal[0] == 403


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
    """Also for clients on this host: there are others there than operators."""
    refusal = Access("127.0.0.1", TOKEN).refusal(peer, "anything", authorization)
    assert (refusal is not None) is refused
    assert refusal is None or (refusal[0], "Authorization: Bearer" in refusal[1]) == (401, True)


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
@pytest.mark.parametrize("token", [None, TOKEN])
def test_no_other_site_may_have_a_browser_change_anything(
    origin: str | None, status: int | None, token: str | None
) -> None:
    """A browser names the site that it sends a POST for, and it sends along what it knows of passwords."""
    access = Access("127.0.0.1", token)
    refusal = access.refusal_to_change("127.0.0.1", "127.0.0.1:9872", BEARER, origin)
    assert (refusal and refusal[0]) == status


def test_what_may_not_be_seen_may_not_be_changed() -> None:
    """The same rule comes first."""
    access = Access("127.0.0.1", TOKEN)
    refusal = access.refusal_to_change("127.0.0.1", "127.0.0.1:9872", None, "http://127.0.0.1:9872")
    assert refusal is not None
    assert refusal[0] == 401
