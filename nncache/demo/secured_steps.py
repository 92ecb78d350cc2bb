"""The steps of the secured story: what should be seen, what was seen.

Pure: each judgement takes answers and returns a Step.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from nncache.demo.steps import Step, counted

_OK: Final = HTTPStatus.OK
_FORBIDDEN: Final = HTTPStatus.FORBIDDEN
_UNAUTHORIZED: Final = HTTPStatus.UNAUTHORIZED


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a client got.

    Attributes:
        is_hit: nncache answered from memory.
        set_cookie: the field of this name; "" for none.
        proof: the values of WWW-Authenticate.
    """

    status: int
    is_hit: bool = False
    body: bytes = b""
    set_cookie: str = ""
    proof: tuple[str, ...] = ()


def logged_in(user: str, answer: Answer, trouble: str) -> Step:
    """Judge the answer to a ticket; `trouble` is what is wrong with the server's own token, "" for nothing."""
    has_cookie = f"u={user}&" in answer.set_cookie
    cookie = f"a cookie of {user}'s" if has_cookie else "no cookie"
    seen = f"{answer.status}, {cookie}, "
    seen += "from memory" if answer.is_hit else "by the NameNode"
    return Step(
        title=f"{user}'s ticket",
        expected=f"200 by the NameNode, with a cookie of {user}'s, and it proves that it is HTTP/localhost",
        seen=seen + (f": {trouble}" if trouble else ", which has proven its name"),
        came_true=answer.status == _OK and has_cookie and not answer.is_hit and not trouble,
    )


def from_memory(title: str, answers: Sequence[Answer], reads_at_most: int) -> Step:
    """Judge questions with a credential that the NameNode accepts: the first few are its own to answer."""
    hits = sum(answer.is_hit for answer in answers)
    right = all(answer.status == _OK and answer.body == answers[0].body for answer in answers)
    return Step(
        title=title,
        expected=f"200 each time, at least {len(answers) - reads_at_most} of {len(answers)} from memory",
        seen=f"{_statuses(answers)}; {counted(hits, 'hit')}",
        came_true=bool(answers) and right and hits >= len(answers) - reads_at_most,
    )


def denied(title: str, answers: Sequence[Answer]) -> Step:
    """Judge questions of a user without the right: the NameNode's 403, with its words, each time."""
    hits = sum(answer.is_hit for answer in answers)
    words = all(b"Permission denied: user=" in answer.body for answer in answers)
    return Step(
        title=title,
        expected="403 each time, in the NameNode's words; nothing from memory",
        seen=f"{_statuses(answers)}{', Permission denied' if words else ''}; {counted(hits, 'hit')}",
        came_true=bool(answers) and words and not hits and all(each.status == _FORBIDDEN for each in answers),
    )


def refused(title: str, answers: Sequence[Answer], status: int = _UNAUTHORIZED) -> Step:
    """Judge questions with a credential that is none, or none any more."""
    hits = sum(answer.is_hit for answer in answers)
    shown = any(b"FileStatus" in answer.body for answer in answers)
    return Step(
        title=title,
        expected=f"{int(status)} each time; nothing from memory",
        seen=f"{_statuses(answers)}; {counted(hits, 'hit')}",
        came_true=bool(answers) and not hits and not shown and all(each.status == status for each in answers),
    )


def _statuses(answers: Sequence[Answer]) -> str:
    """Return "20 x 200, 1 x 403"."""
    return ", ".join(
        f"{number} x {status}" for status, number in Counter(each.status for each in answers).items()
    )
