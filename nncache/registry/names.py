"""Names of entries, and the entry names of users.

Sources: RFC 1123 section 2.1 and RFC 1035 section 2.3.4 for labels; `RegistryUtils.homePathForUser` and
`RegistryPathUtils.encodeForRegistry` of Hadoop 3.5.0 for users. Both call java.net.IDN, which implements IDNA of RFC
3490, as Python's codec `idna` does. IDNA of RFC 5891 encodes some names differently (a sharp s, for example).
"""

import re
from typing import Final

from nncache.registry.errors import InvalidPathnameError

MAX_LABEL_BYTES: Final = 63

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_RULE: Final = "allowed are a to z, 0 to 9 and, between them, hyphens (RFC 1123), at most 63 bytes"


def fault_of_label(element: str) -> str | None:
    """Return why a path element is not a host name label; None if it is one."""
    if not element:
        return f"an element is empty; {_RULE}"
    size = len(element.encode("utf-8", "surrogatepass"))
    if size > MAX_LABEL_BYTES:
        return f"the element {element!r} has {size} bytes; {_RULE}"
    if not _LABEL.fullmatch(element):
        return f"the element {element!r} is no label of a host name; {_RULE}"
    return None


def fault_of_user(element: str) -> str | None:
    """Return why an element is not the name of a user; None if it is one or more labels joined by dots.

    Hadoop keeps the dots of a user name (`john.smith`), so only the element of a user may contain dots.
    """
    size = len(element.encode("utf-8", "surrogatepass"))
    if size > MAX_LABEL_BYTES:
        return f"the element {element!r} has {size} bytes; {_RULE}"
    return next((fault for label in element.split(".") if (fault := fault_of_label(label))), None)


def element_of_user(user: str) -> str:
    """Return the name of a user's entry below /users: Hadoop's name for it, if that is a host name.

    The realm and the host of a principal are dropped. Upper case becomes lower case. Characters outside ASCII become
    punycode.

    Raises InvalidPathnameError for a user without such a name: a space, an underscore, or more than 63 bytes.
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
    """Return the text before a mark, or the whole text if it begins with the mark, as Hadoop does."""
    place = text.find(mark)
    return text[:place] if place > 0 else text
