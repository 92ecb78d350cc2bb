"""What the front end's replies say, without a wire. (tests/model/replies.py)"""

from http import HTTPStatus

from hadoop.filestatus import render_missing
from proxy.messages import Headers
from proxy.response import RawResponse
from tests.model.namespace import Answer
from tests.model.upstream import ODD_ANSWERS


def unquoted(answer: Answer, path: str, spelled: str) -> Answer:
    """Return what a 404 says, which quotes the path as it was spelled, of the path as it is kept."""
    if answer.status != HTTPStatus.NOT_FOUND or spelled == path or answer in ODD_ANSWERS:
        return answer
    is_own = answer.body == render_missing(spelled)
    return Answer(answer.status, render_missing(path) if is_own else b"of another spelling: " + answer.body)


def made(fields: Headers) -> bytes:
    """Return the value of the one `Cache-Status`."""
    (made,) = (value for name, value in fields if name == b"Cache-Status")
    return made


def parts(response: RawResponse) -> tuple[Headers, Answer]:
    """Take apart what would go over the wire."""
    fields, body = response._fields, response._whole  # noqa: SLF001 - there is no wire here
    assert body is not None
    return fields, Answer(response.status, body)
