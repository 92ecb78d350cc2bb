"""DNS names of entries and APIs.

Sources: RFC 1035 for names, RFC 2782 for `_service._protocol`; `BaseServiceRecordProcessor` of Hadoop 3.5.0, whose
RegistryDNS names an instance INSTANCE.USER.DOMAIN, and `ContainerServiceRecordProcessor` for containers.
"""

import re
from typing import Final, TypeAlias

from nncache.registry import paths
from nncache.registry.daemon_record import ADMIN_API, WEBHDFS_API
from nncache.registry.names import MAX_LABEL_BYTES, fault_of_label
from nncache.registry.targets import METRICS_API

Labels: TypeAlias = tuple[bytes, ...]
"""A name below the served domain: lower case, the last label is next to the domain."""

TCP: Final = "_tcp"

LABELS: Final = {WEBHDFS_API: "_webhdfs", METRICS_API: "_prometheus", ADMIN_API: "_nncache-admin"}
"""The label before _tcp, by API. The label of any other API is derived from the API itself."""

_CLASSPATH: Final = "classpath:"
_OF_YARN: Final = "classpath:org.apache.hadoop.yarn.service."
_SCHEMES: Final = ("http://", "https://")
_CONTAINER: Final = re.compile(rb"ctr-(?:e[0-9]+-)?[0-9]+-[0-9]+-[0-9]+-[0-9]+")
_NO_LABEL: Final = re.compile(r"[^a-z0-9]+")

_USERS: Final = paths.name_of(paths.USERS)
_SERVICES: Final = paths.name_of(paths.SERVICES)
_TOPS: Final = frozenset(map(paths.name_of, (paths.USERS, paths.SERVICES, paths.NET)))
"""Users with these names get no short name: it could be the name of another entry."""


def below(name: Labels, *labels: str) -> Labels:
    """Return the name with further labels in front."""
    return (*(label.encode() for label in labels), *name)


def names_of(path: str) -> tuple[Labels, ...]:
    """Return the names of an entry, its full name first; none if a path element is not a host name label.

    The full name has all path elements, from the last to the first. Instances and components of users also have a short
    name, without the elements that all of them share: INSTANCE.USER and COMPONENT.INSTANCE.USER.
    """
    elements = paths.elements_of(path)
    if not elements or paths.fault_of(elements):
        return ()
    whole = below((), *reversed(elements))
    short = _short_name(elements)
    return (whole,) if short is None else (whole, short)


def container_names_of(path: str, description: str, component: str) -> tuple[Labels, ...]:
    """Return the names that Hadoop's RegistryDNS gives a container of a user's service, the container's own name first.

    These are DESCRIPTION.SERVICE.USER, COMPONENT.SERVICE.USER, which all containers of a component share, and the
    container's id alone, as YARN writes it. No other entry of a user has a name directly below the domain.
    """
    short = _short_name(paths.elements_of(path))
    if short is None or len(short) != len(("container", "service", "user")):
        return ()
    labels = (each for each in (description.lower(), component.lower()) if fault_of_label(each) is None)
    id_ = (short[:1],) if _CONTAINER.fullmatch(short[0]) else ()
    return (*(below(short[1:], label) for label in labels), *id_)


def service_of(path: str) -> str:
    """Return the path of a component's service; for any other entry, its own path."""
    elements = paths.elements_of(path)
    if elements[-2:-1] == (paths.COMPONENTS,) and elements[:-2]:
        return paths.path_of(*elements[:-2])
    return path


def label_of(api: str) -> str | None:
    """Return the label before _tcp for an API; None if the API has no characters for one, or too many."""
    known = LABELS.get(api)
    if known is not None:
        return known
    for scheme in _SCHEMES:
        if api.startswith(scheme):
            return f"_{scheme.partition(':')[0]}"  # as Hadoop does, whatever follows the scheme
    words = api.removeprefix(_OF_YARN).removeprefix(_CLASSPATH)
    label = _NO_LABEL.sub("-", words.lower()).strip("-")
    return f"_{label}" if 0 < len(label) < MAX_LABEL_BYTES else None


def _short_name(elements: tuple[str, ...]) -> Labels | None:
    match elements:
        case (first, user, *rest) if first == _USERS and user not in _TOPS:
            if rest[:1] == [_SERVICES]:
                rest = rest[1:]  # Hadoop's `RegistryUtils` has this level
            match rest:
                case [_, instance]:
                    return below((), instance, user)
                case [_, instance, paths.COMPONENTS, component]:
                    return below((), component, instance, user)
    return None
