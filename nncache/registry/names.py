"""Names of entries, and the names of users as entries.

Sources: RFC 1123 section 2.1 and RFC 1035 section 2.3.4 for labels; `RegistryUtils.homePathForUser` and
`RegistryPathUtils.encodeForRegistry` of Hadoop 3.5.0 for users. Those call java.net.IDN, which is IDNA of RFC 3490, as
Python's codec `idna` is; IDNA of RFC 5891 gives other names (for a sharp s, for one).
"""

import re
from typing import Final

from nncache.registry.errors import InvalidPathnameError

MAX_LABEL_BYTES: Final = 63

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_RULE: Final = "allowed are a to z, 0 to 9 and, between them, hyphens (RFC 1123), at most 63 bytes"


def fault_of_label(element: str) -> str | None:
    """Return what is wrong with an element of a path, None if it is a label of a host name."""
    if not element:
        return f"an element is empty; {_RULE}"
    size = len(element.encode("utf-8", "surrogatepass"))
    if size > MAX_LABEL_BYTES:
        return f"the element {element!r} has {size} bytes; {_RULE}"
    if not _LABEL.fullmatch(element):
        return f"the element {element!r} is no label of a host name; {_RULE}"
    return None


def fault_of_user(element: str) -> str | None:
    """Return what is wrong with the element of a user, None if it is one or more labels joined by dots.

    Hadoop keeps the dots of a user name (`john.smith`), so the element of a user may have some, where no other may.
    """
    size = len(element.encode("utf-8", "surrogatepass"))
    if size > MAX_LABEL_BYTES:
        return f"the element {element!r} has {size} bytes; {_RULE}"
    return next((fault for label in element.split(".") if (fault := fault_of_label(label))), None)


def element_of_user(user: str) -> str:
    """Return the name of a user's entry below /users: as Hadoop makes it, where that is a host name.

    The realm and the host of a principal are dropped, upper case becomes lower case, and what is not ASCII becomes
    punycode.

    Raises InvalidPathnameError if there is no such name: a space or an underscore, or more than 63 bytes.
    """
    short = _before(_before(user.lower(), "@"), "/")
    try:
        element = short.encode("idna").decode("ascii")
    except UnicodeError as exc:
        raise InvalidPathnameError(f"/users/{short}", f"the user {user!r} has no IDNA name: {exc}") from exc
    fault = fault_of_user(element)
    if fault is not None:
        raise InvalidPathnameError(
            f"/users/{short}", f"the user {user!r} has no name in the registry: {fault}"
        )
    return element


def _before(text: str, mark: str) -> str:
    """Return the text before a mark; all of it where the mark comes first, as Hadoop does."""
    place = text.find(mark)
    return text[:place] if place > 0 else text
