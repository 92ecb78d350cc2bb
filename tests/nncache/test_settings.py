"""One flat TOML file, the same keys as flags; every fault is one line that says where and what is allowed."""

from pathlib import Path

import pytest

from nncache.errors import ConfigurationError
from nncache.settings import KEYS, Settings, load_settings


def write(tmp_path: Path, text: str) -> Path:
    """Make a settings file."""
    path = tmp_path / "nncache.toml"
    path.write_text(text)
    return path


def test_without_file_and_flags_all_defaults_hold() -> None:
    """No file is needed."""
    assert load_settings(None, {}) == Settings()


def test_the_file_holds_every_key_at_its_top(tmp_path: Path) -> None:
    """Lists are arrays; each key goes to its own component."""
    settings = load_settings(
        write(
            tmp_path,
            'glob = ["/a/{b,c}", "/d"]\nmax_staleness_s = 2\nlisten = "[::1]:1"\nlog_level = "debug"\n',
        ),
        {},
    )
    assert settings.cache.glob == ("/a/{b,c}", "/d")
    assert settings.cache.max_staleness_s == 2.0
    assert settings.proxy.listen == "[::1]:1"
    assert settings.log.log_level == "debug"


def test_a_flag_wins_over_the_file(tmp_path: Path) -> None:
    """The value in the file is not even read, so that a flag can stand in for a wrong one."""
    config = write(tmp_path, 'max_staleness_s = "soon"\ngrant_ttl_s = 7\n')
    settings = load_settings(config, {"max_staleness_s": "2"})
    assert (settings.cache.max_staleness_s, settings.cache.grant_ttl_s) == (2.0, 7.0)


def test_addresses_of_several_namenodes_share_a_flag() -> None:
    """`--namenode-http` and `--namenode-rpc` take comma-separated lists for HA."""
    settings = load_settings(None, {"namenode_http": ("a:1,b:1",), "namenode_rpc": ("a:2", "b:2")})
    assert settings.namenodes.namenode_http == ("a:1", "b:1")
    assert settings.namenodes.namenode_rpc == ("a:2", "b:2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_stalenes_s = 1\n", "{config}: max_stalenes_s: no such key; the nearest is max_staleness_s"),
        ("namenode-http = []\n", "{config}: namenode-http: no such key; the nearest is namenode_http"),
        ("[cache]\nglob = []\n", "{config}: [cache]: tables have no meaning here; all keys are at the top"),
        ('max_staleness_s = "1"\n', "max_staleness_s: 1: must be a number (in {config})"),
        ("max_staleness_s = -1\n", "max_staleness_s: -1.0: must be more than 0 seconds (in {config})"),
        ('listen = "9871"\n', "listen: 9871: must be host:port with a port from 0 to 65535 (in {config})"),
    ],
)
def test_a_wrong_line_is_named_with_its_file(tmp_path: Path, text: str, told: str) -> None:
    """Key, value, what is allowed, and where it stands."""
    config = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(config, {})
    assert str(caught.value) == told.format(config=config)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"max_staleness_s": "soon"}, "max_staleness_s: soon: must be a number"),
        ({"max_staleness_s": "0"}, "max_staleness_s: 0.0: must be more than 0 seconds"),
        ({"grants": "per_user"}, "grants: per_user: must be one of per_directory, per_path"),
    ],
)
def test_a_wrong_flag_is_told_without_a_file(flags: dict[str, object], told: str) -> None:
    """The file is named only where the fault is in it."""
    with pytest.raises(ConfigurationError) as caught:
        load_settings(None, flags)
    assert str(caught.value) == told


def test_a_bad_glob_is_named() -> None:
    """Globs are compiled at the start, not when the first path comes."""
    with pytest.raises(ConfigurationError, match=r"^glob: /a/\[b: must be a Hadoop glob: "):
        load_settings(None, {"glob": ("/good", "/a/[b")})


def test_lists_of_namenodes_must_be_of_equal_length() -> None:
    """The n-th HTTP address and the n-th RPC address are one NameNode."""
    with pytest.raises(ConfigurationError, match=r"^namenode_(http|rpc): "):
        load_settings(None, {"namenode_http": ("a:1,b:1",), "namenode_rpc": ("a:2",)})


@pytest.mark.parametrize(
    ("content", "fault"), [(b"a = ", "is not TOML"), (b"\xff", "is not TOML"), (None, "No such")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, fault: str) -> None:
    """Absent, not TOML or not UTF-8: one line each."""
    config = tmp_path / "nncache.toml"
    if content is not None:
        config.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^{config}: {fault}"):
        load_settings(config, {})


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_each_setting_says_what_it_means(key: object) -> None:
    """Help is a sentence; a length of time says so in its name and its help."""
    text = KEYS[key.name].help if hasattr(key, "name") else ""
    assert text.rstrip(")").endswith(".")
