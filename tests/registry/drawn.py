"""Random records, here and with Hadoop's classes."""

import json
import random
from typing import Any

from py4j.java_gateway import get_field, set_field

from nncache.registry.record import Endpoint, ServiceRecord, host_port_endpoint, uri_endpoint

DRAWN = 200
"""Number of records in each direction."""

ALPHABETS = (
    "abcxyz019-",
    " .:/_@+%",
    '"\\\b\f\n\r\t\0\x1f\x7f',
    "äßéλЖ日本語\u2028\ufffd",
    "\U0001f600\U00010348",
)


FIELDS = ("type", "description", "external", "internal")
"""The fields of a record; all other keys are attributes."""


def text(chance: random.Random, most: int = 12) -> str:
    """Return a random text, from one or several alphabets."""
    alphabet = "".join(chance.sample(ALPHABETS, chance.randint(1, len(ALPHABETS))))
    return "".join(chance.choices(alphabet, k=chance.randint(0, most)))


def drawn_endpoint(chance: random.Random) -> Endpoint:
    """Return a random endpoint of any valid kind."""
    api, protocol, count = text(chance), text(chance, 5), chance.randint(0, 3)
    match chance.randint(0, 3):
        case 0:
            return uri_endpoint(api, protocol, *(f"http://h/{text(chance)}" for _ in range(count)))
        case 1:
            return host_port_endpoint(
                api, protocol, *((f"h{n}", chance.randint(1, 65535)) for n in range(count))
            )
        case 2:
            addresses = tuple({"host": f"h{n}", "port": "2181", "path": "/hbase"} for n in range(count))
            return Endpoint(api=api, protocol=protocol, address_type="zktriple", addresses=addresses)
        case _:
            own = tuple(
                {text(chance): text(chance) for _ in range(chance.randint(0, 4))} for _ in range(count)
            )
            return Endpoint(api=api, protocol=protocol, address_type=f"x-{text(chance, 4)}", addresses=own)


def drawn_record(chance: random.Random) -> ServiceRecord:
    """Return a random record within the limits."""
    names = {text(chance) for _ in range(chance.choice((0, 1, 2, 5, 13, 40)))} - {*FIELDS}
    attributes = {name: text(chance) for name in sorted(names)}
    if chance.random() < 0.5:
        attributes["yarn:id"] = f"application_1414052463672_{chance.randint(1, 9999):04}"
        attributes["yarn:persistence"] = chance.choice(("permanent", "application", "container"))
    return ServiceRecord(
        description=None if chance.random() < 0.2 else text(chance, 60),
        external=tuple(drawn_endpoint(chance) for _ in range(chance.randint(0, 4))),
        internal=tuple(drawn_endpoint(chance) for _ in range(chance.randint(0, 2))),
        attributes=attributes,
    )


def in_java(hadoop: Any, record: ServiceRecord) -> Any:
    """Build the record with Hadoop's own classes, with its attributes in another order."""
    types = hadoop.registry.client.types
    built = types.ServiceRecord()
    set_field(built, "description", record.description)
    for name in sorted(record.attributes, reverse=True):
        built.set(name, record.attributes[name])
    for ours, theirs in ((record.external, "external"), (record.internal, "internal")):
        for endpoint in ours:
            made = types.Endpoint(endpoint.api, endpoint.address_type, endpoint.protocol)
            for address in endpoint.addresses:
                fields = hadoop.registry.client.binding.RegistryTypeUtils.map("", "")
                fields.clear()
                for name, value in address.items():
                    fields.put(name, value)
                get_field(made, "addresses").add(fields)
            get_field(built, theirs).add(made)
    return built


def sorted_attributes(written: bytes) -> bytes:
    """Return the bytes of a record with its attributes sorted by name; Hadoop has another order."""
    document, read = written.decode(), json.JSONDecoder().raw_decode
    members: list[tuple[str, str]] = []
    at = 1
    while at < len(document):
        name, colon = read(document, at)
        _, end = read(document, colon + 1)
        members.append((name, document[at:end]))
        at = end + 1
    fields = [member for name, member in members if name in FIELDS]
    attributes = [member for name, member in sorted(members) if name not in FIELDS]
    return f"{{{','.join(fields + attributes)}}}".encode()
