"""A proxy says at its start where it can be reached."""

import logging

import pytest

from nncache.daemons.start_lines import say_where
from nncache.proxy.settings import ProxySettings
from nncache.settings.commands import SettingsOfProxy


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        (ProxySettings(), "serves WebHDFS on 127.0.0.1:9871 in front"),
        (
            ProxySettings(tls_listen="0.0.0.0:9875", tls_certificate="/c.pem", tls_key="/k.pem"),
            "serves WebHDFS on 127.0.0.1:9871 and with TLS on 0.0.0.0:9875 in front",
        ),
    ],
    ids=["plain alone", "TLS beside it"],
)
def test_every_port_for_clients_is_named(
    proxy: ProxySettings, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """That with TLS as well."""
    caplog.set_level(logging.INFO)
    say_where(SettingsOfProxy(proxy=proxy), 9871, "http://127.0.0.1:9872/")
    assert said in caplog.messages[0]
