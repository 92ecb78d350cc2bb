"""`nncache purge` asks for what was said and says what was forgotten."""

import json

import pytest
from click.testing import CliRunner

from nncache.commands.purge import purge
from tests.http_server import answering

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
    """And prints a line for each place; a path cannot steer the terminal."""
    with answering(200, json.dumps(ANSWER).encode()) as (address, asked):
        result = CliRunner().invoke(purge, [*words, "--admin", address])
    assert asked == [f"POST {target}"]
    assert result.output == "forgotten: /w and everything below\nnothing was cached: /v/\\x1b[31m\\nx\n"
    assert result.exit_code == 0


def test_the_answer_as_it_came() -> None:
    """For programs."""
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
    """Exit code 2, as for any wrong use."""
    with answering(200, b"{}") as (address, asked):
        result = CliRunner().invoke(purge, [*words, "--admin", address])
    assert (result.exit_code, asked) == (2, [])
    assert error in result.output
