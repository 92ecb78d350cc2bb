"""The requests of the commands to an admin port, and their messages when it does not answer."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.commands.admin_client import AdminPort, admin_port
from nncache.commands.purge import purge
from nncache.errors import AdminError, ConfigurationError
from nncache.settings.commands import TOP
from nncache.testbed.certificates import Authority
from tests.http_server import answering
from tests.tls import server_context

TOKEN = "0123456789abcdef"


def port(admin: str, admin_token_file: str = "", admin_ca: str = "") -> AdminPort:
    """Return the admin port for these flags."""
    flags: dict[str, object] = {"admin_token_file": admin_token_file or None, "admin_ca": admin_ca or None}
    return admin_port(TOP, None, {"admin": admin, **flags})


def test_the_answer_is_the_object_in_the_body(tmp_path: Path) -> None:
    """The request carries the token, if there is one, and uses the method that the page accepts."""
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o400)
    tokens: list[str | None] = []
    with answering(200, b'{"a": 1}', tokens) as (address, asked):
        assert port(address, "").ask("/status") == {"a": 1}
        assert port(address, str(file)).ask("/purge?path=%2F", "POST") == {"a": 1}
    assert asked == ["GET /status", "POST /purge?path=%2F"]
    assert tokens == [None, f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        (400, b'{"error": "path must be absolute"}', "answered 400: path must be absolute"),
        (
            404,
            b'{"RemoteException": {"message": "x"}}',
            "clients' port of a proxy .*: give --admin the proxy's admin",
        ),
        (200, b"<html>", "is not the admin port of an nncache proxy"),
        (200, b"[]", "is not the admin port of an nncache proxy"),
    ],
)
def test_another_answer_is_reported_in_one_line(status: int, body: bytes, reported: str) -> None:
    """The line says that the server at the address is not an admin port of a proxy."""
    with answering(status, body) as (address, _), pytest.raises(AdminError, match=reported):
        port(address, "").ask("/status")


def test_a_silent_port_says_what_to_do() -> None:
    """The message names the address and the flag."""
    with pytest.raises(AdminError, match=r"no proxy answers at 127\.0\.0\.1:1 .*--admin"):
        port("127.0.0.1:1", "").ask("/status")


def test_an_address_that_is_none_is_a_wrong_setting(tmp_path: Path) -> None:
    """The error is the same line as for the setting of that name. A missing token file is an error, too."""
    with pytest.raises(ConfigurationError, match=r"^admin: nowhere: must be host:port"):
        port("nowhere", "")
    with pytest.raises(ConfigurationError, match=r"^admin_token_file: .*No such file"):
        port("127.0.0.1:1", str(tmp_path / "none"))


def test_over_tls_the_authority_is_named(tmp_path: Path) -> None:
    """The error says that a certificate is untrusted or names another host, or that one side expects plain HTTP."""
    authority = Authority(tmp_path)
    ca = str(authority.ca)
    with answering(200, b'{"a": 1}', tls=server_context(authority, "localhost")) as (address, _):
        number = address.rpartition(":")[2]
        assert port(f"https://localhost:{number}", admin_ca=ca).ask("/status") == {"a": 1}
        with pytest.raises(AdminError, match=r"the certificate of .* is not trusted: .*: give --admin-ca"):
            port(f"https://localhost:{number}").ask("/status")
        with pytest.raises(AdminError, match=r"is not trusted: IP address mismatch.*a host that it names"):
            port(f"https://127.0.0.1:{number}", admin_ca=ca).ask("/status")
        with pytest.raises(AdminError, match="https://host:port if it has an admin_tls_certificate"):
            port(f"localhost:{number}").ask("/status")
    with (
        answering(200, b"{}") as (address, _),
        pytest.raises(AdminError, match="--admin https://host:port, or host:port if it has no admin_tls"),
    ):
        port(f"https://{address}", admin_ca=ca).ask("/status")
    with pytest.raises(
        ConfigurationError, match=r"^admin_ca: .*/none: must be certificates of authorities in PEM"
    ):
        port("https://localhost:1", admin_ca=str(tmp_path / "none"))


ANSWER = {
    "purged": [
        {"path": "/w", "is_subtree": True, "was_held": True},
        {"path": "/v/\x1b[31m\nx", "is_subtree": False, "was_held": False},
    ]
}


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["/w/a b%"], "/purge?path=%2Fw%2Fa+b%25"),
        (["/w", "--subtree"], "/purge?path=%2Fw&subtree=true"),
        (["--filter", "/w/*"], "/purge?filter=%2Fw%2F%2A"),
    ],
)
def test_it_posts_what_is_to_be_forgotten(words: list[str], target: str) -> None:
    """It prints a line for each purged place. Control characters of a path are escaped."""
    with answering(200, json.dumps(ANSWER).encode()) as (address, asked):
        result = CliRunner().invoke(purge, [*words, "--admin", address])
    assert asked == [f"POST {target}"]
    assert result.output == "forgotten: /w and everything below\nnothing was cached: /v/\\x1b[31m\\nx\n"
    assert result.exit_code == 0


def test_the_answer_as_it_came() -> None:
    """`--json` prints the document unchanged, for programs."""
    with answering(200, json.dumps(ANSWER).encode()) as (address, _):
        result = CliRunner().invoke(purge, ["/w", "--admin", address, "--json"])
    assert json.loads(result.output) == ANSWER


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "give a PATH or --filter"),
        (["/w", "--filter", "ours"], "give a PATH or --filter"),
        (["--filter", "ours", "--subtree"], "--subtree goes with a PATH"),
    ],
)
def test_half_a_command_forgets_nothing(words: list[str], error: str) -> None:
    """The exit code is 2, as for any usage error."""
    with answering(200, b"{}") as (address, asked):
        result = CliRunner().invoke(purge, [*words, "--admin", address])
    assert (result.exit_code, asked) == (2, [])
    assert error in result.output
