"""Names of principals, and the choice of the right server."""

import pytest

from nncache.hadoop.kerberos.principal import Principal, expected_server, on_host, parse_principal


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("alice", Principal("alice")),
        ("alice@R.COM", Principal("alice", realm="R.COM")),
        ("nn/h.com@R.COM", Principal("nn", "h.com", "R.COM")),
        ("nn/_HOST", Principal("nn", "_HOST")),
    ],
)
def test_a_principal_is_read_and_written_alike(text: str, principal: Principal) -> None:
    """Host and realm are optional."""
    assert parse_principal(text) == principal
    assert str(principal) == text


@pytest.mark.parametrize("text", ["", "a/b/c@R", "a@b@c", "@R", "nn/@R", "a b", "a/b@"])
def test_what_is_no_principal_is_refused(text: str) -> None:
    """The error shows a valid principal."""
    with pytest.raises(ValueError, match=r"nncache/_HOST@EXAMPLE\.COM"):
        parse_principal(text)


def test_host_means_the_name_in_lower_case() -> None:
    """SecurityUtil.replacePattern does the same; any other host is kept."""
    assert on_host(Principal("nn", "_HOST", "R"), "NN1.Example.com") == Principal(
        "nn", "nn1.example.com", "R"
    )
    assert on_host(Principal("nn", "vip", "R"), "nn1") == Principal("nn", "vip", "R")


CLAIMED = Principal("nn", "NN1.example.com")


@pytest.mark.parametrize(
    ("configured", "address"),
    [
        (None, "anything"),
        ("nn/_HOST@R", "nn1.example.com"),
        ("nn/_HOST@R", "nn1"),
        ("nn/_HOST@R", "10.0.0.1"),
        ("nn/_HOST@R", "[::1]"),
        ("nn/nn1.example.com@R", "vip"),
        ("nn/nn1.example.com", "vip"),
    ],
)
def test_the_expected_server_is_asked_as_what_it_says_it_is(configured: str | None, address: str) -> None:
    """The realm is the configured one; the server names none."""
    principal = None if configured is None else parse_principal(configured)
    realm = "" if principal is None else principal.realm
    assert expected_server(principal, address, CLAIMED) == Principal("nn", "NN1.example.com", realm)


@pytest.mark.parametrize(
    ("configured", "address", "claimed"),
    [
        ("hdfs/_HOST@R", "nn1.example.com", CLAIMED),
        ("nn/_HOST@R", "nn2.example.com", CLAIMED),
        ("nn/_HOST@R", "nn", CLAIMED),
        ("nn/vip@R", "vip", CLAIMED),
        ("nn/_HOST@R", "nn1.example.com", Principal("nn", "nn1.example.com", "OTHER")),
        ("nn/_HOST@R", "evil", Principal("HTTP", "evil")),
    ],
)
def test_another_server_is_refused(configured: str, address: str, claimed: Principal) -> None:
    """Service, host or realm differ; the error names both principals."""
    with pytest.raises(ValueError, match=r"it calls itself .* is expected") as caught:
        expected_server(parse_principal(configured), address, claimed)
    assert str(claimed) in str(caught.value)
