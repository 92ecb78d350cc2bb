"""The effective configuration of a daemon."""

from nncache.hadoop.conf_page import parse_conf


def test_values_are_read_by_name() -> None:
    """Properties without a value are absent."""
    body = b'{"properties":[{"key":"a","value":"1","isFinal":false,"resource":"x"},{"key":"b","value":null}]}'
    assert parse_conf(body) == {"a": "1"}


def test_what_is_no_configuration_is_none() -> None:
    """The body is HTML, or another JSON object."""
    assert parse_conf(b"<html>") is None
    assert parse_conf(b'{"beans":[]}') is None
