"""`nncache proxy` takes every setting as an option, and the line of the README works."""

from click.testing import CliRunner

from nncache.options import given
from nncache.proxy_command import proxy
from nncache.settings import KEYS, load_settings

START = (
    "--listen 127.0.0.1:9871 --admin 127.0.0.1:9872 --nameservice ns1 --namenode-http 127.0.0.1:9870 "
    "--namenode-rpc 127.0.0.1:8020 --channel direct --glob /user/*/workflow/*/_SUCCESS"
)


def test_every_setting_is_an_option() -> None:
    """And `--config` names the file."""
    options = {option for parameter in proxy.params for option in parameter.opts}
    assert options == {key.flag for key in KEYS.values()} | {"--config"}


def test_the_line_that_starts_without_any_file_is_understood() -> None:
    """All it says arrives where it belongs."""
    context = proxy.make_context("proxy", START.split())
    flags = {name: value for name, value in context.params.items() if name != "config"}
    settings = load_settings(None, given(flags))
    assert settings.proxy.listen == "127.0.0.1:9871"
    assert settings.proxy.admin == "127.0.0.1:9872"
    assert settings.namenodes.nameservice == "ns1"
    assert settings.namenodes.namenode_http == ("127.0.0.1:9870",)
    assert settings.namenodes.namenode_rpc == ("127.0.0.1:8020",)
    assert settings.invalidation.channel == "direct"
    assert settings.cache.glob == ("/user/*/workflow/*/_SUCCESS",)


def test_help_is_complete() -> None:
    """Every key's meaning is in --help."""
    text = " ".join(CliRunner().invoke(proxy, ["--help"]).output.split())
    for key in KEYS.values():
        assert key.flag in text
