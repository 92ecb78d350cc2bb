"""Parse the page `/conf` of a Hadoop daemon: its effective configuration.

Pure. Source: org.apache.hadoop.conf.ConfServlet of Hadoop 3.4.1 and 3.5.0, called with `Accept: application/json`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from nncache.hadoop.unreadable_json import UNREADABLE_JSON

TARGET: Final = "/conf?format=json"


class _Property(msgspec.Struct, frozen=True):
    key: str
    value: str | None = None


class _Conf(msgspec.Struct, frozen=True):
    properties: tuple[_Property, ...]


def parse_conf(body: bytes) -> Mapping[str, str] | None:
    """Return the values by name; None if the body is not a configuration."""
    try:
        conf = msgspec.json.decode(body, type=_Conf)
    except UNREADABLE_JSON:
        return None
    return {each.key: each.value for each in conf.properties if each.value is not None}
