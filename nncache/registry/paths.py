"""Paths of the registry, below its root.

Rules for what is made are those of the design: every element is a label of a host name. What other clients have made
can be read and deleted whatever its name is, as Hadoop's own client checks nothing but what ZooKeeper does
(`RegistryOperationsService.validatePath`, `PathUtils.validatePath` of ZooKeeper 3.8).
"""

import re
from typing import Final

from nncache.registry.errors import InvalidPathnameError
from nncache.registry.names import element_of_user, fault_of_label, fault_of_user

ROOT: Final = "/"
USERS: Final = "/users"
SERVICES: Final = "/services"
NET: Final = "/net"
COMPONENTS: Final = "components"

MAX_PATH_CHARACTERS: Final = 1024
"""Of a path that is made: RFC 1035 has 255 for a host name, and a path has elements beside its host's."""

MAX_ELEMENTS: Final = 64
"""Of a path that is made, and levels of what is followed or searched: each level takes calls of its own."""

TOO_DEEP: Final = f"has entries below it, which are not read: they are below {MAX_ELEMENTS} levels"

_UNREADABLE: Final = re.compile("[\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")  # what ZooKeeper refuses


def elements_of(path: str) -> tuple[str, ...]:
    """Return the elements of a path; none for the root."""
    return tuple(element for element in path.split("/") if element)


def path_of(*elements: str) -> str:
    """Return the path of these elements, in its one spelling."""
    return f"/{'/'.join(elements)}"


def readable(path: str) -> str:
    """Return a path in its one spelling, if there can be such an entry.

    Raises InvalidPathnameError if ZooKeeper can hold no such path.
    """
    elements = elements_of(path)
    for element in elements:
        if element in {".", ".."}:
            raise InvalidPathnameError(
                path, f"the element {element!r} is relative; a path begins at the root"
            )
        if found := _UNREADABLE.search(element):
            raise InvalidPathnameError(path, f"the element {element!r} has the character {found[0]!r}")
    return path_of(*elements)


def fault_of(elements: tuple[str, ...]) -> str | None:
    """Return what is wrong with the elements of a path; None if each is a label of a host name, or a user's."""
    for place, element in enumerate(elements):
        is_user = place == 1 and elements[0] == USERS[1:]
        fault = fault_of_user(element) if is_user else fault_of_label(element)
        if fault is not None:
            return fault
    return None


def writable(path: str) -> str:
    """Return a path in its one spelling, if an entry may be made there.

    Raises InvalidPathnameError if an element is no label of a host name, or the path is too long.
    """
    elements = elements_of(path)
    if fault := fault_of(elements):
        raise InvalidPathnameError(path, fault)
    whole = path_of(*elements)
    if len(whole) > MAX_PATH_CHARACTERS:
        raise InvalidPathnameError(
            path, f"has {len(whole)} characters; at most {MAX_PATH_CHARACTERS} are allowed"
        )
    if len(elements) > MAX_ELEMENTS:
        raise InvalidPathnameError(path, f"has {len(elements)} elements; at most {MAX_ELEMENTS} are allowed")
    return whole


def parent_of(path: str) -> str:
    """Return the path above; the root is above itself."""
    return path_of(*elements_of(path)[:-1])


def below(path: str, *elements: str) -> str:
    """Return the path of these elements below another one, which is in its one spelling."""
    return "/".join(("" if path == ROOT else path, *elements))


def depth_of(path: str) -> int:
    """Return how many elements a path in its one spelling has."""
    return 0 if path == ROOT else path.count("/")


def in_order(path: str) -> str:
    """Return what paths in their one spelling are sorted by: an entry, all below it, then what is beside it.

    The slash comes before all characters of a name then; no path of ZooKeeper has a null.
    """
    return "" if path == ROOT else path.replace("/", "\0")


def name_of(path: str) -> str:
    """Return the last element; empty for the root."""
    return "".join(elements_of(path)[-1:])


def is_below(path: str, top: str) -> bool:
    """Tell whether a path is another one or below it; both in their one spelling."""
    return top in {ROOT, path} or path.startswith(f"{top}/")


def home_of(user: str) -> str:
    """Return the path of a user's entries. Raises InvalidPathnameError for a name without one."""
    return path_of(USERS[1:], element_of_user(user))


def service_path(name: str) -> str:
    """Return the path of a core service. Raises InvalidPathnameError."""
    return writable(f"{SERVICES}/{name}")
