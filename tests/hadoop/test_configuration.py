"""Hadoop's configuration files are read as Hadoop reads them; tests/contracts/test_configuration.py asks it."""

import re
from pathlib import Path

import pytest

from nncache.hadoop.configuration import BadConfigurationError, Configuration
from nncache.net.setting_error import SettingError
from tests.hadoop.site_files import XI, prop, site


def read(tmp_path: Path, *texts: str, **environ: str) -> Configuration:
    """Read files with these texts; the last file has the highest priority."""
    files = [tmp_path / f"{number}-site.xml" for number, _ in enumerate(texts)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return Configuration.read(files, environ)


def test_the_last_value_wins_unless_one_was_final(tmp_path: Path) -> None:
    """This also holds within one file; a `final` property without a value blocks later ones, too."""
    found = read(
        tmp_path,
        site(prop("a", "1"), prop("b", "1", is_final=True), prop("b", "2"), prop("c", None, is_final=True)),
        site(prop("a", "2"), prop("b", "3"), prop("c", "3"), prop("d", "4"), prop("d", "5")),
    )
    assert [found.get(name) for name in "abcde"] == ["2", "1", None, "5", None]


def test_properties_may_be_attributes_or_nested(tmp_path: Path) -> None:
    """Hadoop accepts both; a property without a name or with an empty value has no effect."""
    text = site(
        '<property name="a" value="1" final="true"/>',
        site(prop("b", "2")),
        "<property><value>3</value></property>",
        "<property><name> c </name><value> 4 </value><description>five</description></property>",
        "<other/>",
        prop("a", "6"),
        prop("b", ""),
    )
    found = read(tmp_path, text)
    assert [found.get(name) for name in ("a", "b", "c")] == ["1", "2", "4"]


def test_values_refer_to_others_and_to_the_environment(tmp_path: Path) -> None:
    """A reference without a target is kept verbatim."""
    found = read(
        tmp_path,
        site(
            prop("host", "${name}.${domain}"),
            prop("name", "nn"),
            prop("domain", "${env.DOMAIN}"),
            prop("or", "${env.NONE:-x}|${env.EMPTY:-y}|${env.EMPTY-z}|${env.NONE-}"),
            prop("vain", "${nothing}${name}"),
            prop("itself", "${itself}:1"),
            prop("list", " a, b ,,a"),
        ),
        DOMAIN="example",
        EMPTY="",
    )
    assert found.get("host") == "nn.example"
    assert found.get("or") == "x|y||"
    assert found.get("vain") == "${nothing}${name}"
    assert found.get("itself") == "${itself}:1"
    assert found.names("list") == ("a", "b")
    assert found.names("none") == ()


def test_what_refers_on_and_on_is_refused(tmp_path: Path) -> None:
    """Hadoop gives up as well, after 20 substitutions."""
    found = read(tmp_path, site(prop("a", "${b}"), prop("b", "${a}")))
    with pytest.raises(
        SettingError, match=re.escape("a: ${b}: must refer to other values at most 20 times over")
    ):
        found.get("a")


def test_old_names_mean_the_new_ones(tmp_path: Path) -> None:
    """In files and in queries (Configuration.handleDeprecation)."""
    found = read(tmp_path, site(prop("fs.default.name", "hdfs://a"), prop("dfs.http.address", "a:1")))
    assert found.get("fs.defaultFS") == found.get("fs.default.name") == "hdfs://a"
    assert found.get("dfs.namenode.http-address") == "a:1"


def test_other_files_are_included(tmp_path: Path) -> None:
    """The path is relative to the including file; if the file is missing, its fallback applies."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.xml").write_text(site(prop("b", "2"), f'<xi:include {XI} href="c.xml"/>'))
    (tmp_path / "more" / "c.xml").write_text(site(prop("c", "3")))
    (tmp_path / "d.xml").write_text(site(prop("d", "4")))
    (tmp_path / "g g.xml").write_text(site(prop("g", "7")))
    text = site(
        f'<xi:include {XI} href="more/b.xml"/>',
        f'<xi:include {XI} href="file://{tmp_path}/d.xml"/>',
        f'<xi:include {XI} href="file:{tmp_path}/g%20g.xml"/>',  # as Java writes it
        f'<xi:include {XI} href="none.xml"><xi:fallback>{prop("e", "5")}</xi:fallback></xi:include>',
        f'<xi:include {XI} href="d.xml"><xi:fallback>{prop("f", "6")}</xi:fallback></xi:include>',
        f"<xi:include {XI}/>",
    )
    found = read(tmp_path, text)
    assert [found.get(name) for name in "bcdefg"] == ["2", "3", "4", "5", None, "7"]


@pytest.mark.parametrize("namespace", ["", "xmlns='http://www.w3.org/2003/XInclude'"])
def test_an_include_may_be_of_any_namespace(tmp_path: Path, namespace: str) -> None:
    """Hadoop 3 goes by the local name: such files of a cluster work (tests/contracts/test_configuration.py)."""
    (tmp_path / "b.xml").write_text(site(prop("b", "2")))
    fallback = f"<fallback>{prop('c', '3')}</fallback>"
    text = site(
        f'<include {namespace} href="b.xml"/><include {namespace} href="none.xml">{fallback}</include>'
    )
    found = read(tmp_path, text)
    assert [found.get(name) for name in "bc"] == ["2", "3"]


def test_a_file_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    """Hadoop looks for each file on its class path, and skips missing ones."""
    assert Configuration.read([tmp_path / "core-site.xml"], {}).get("a") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<configuration>", "is not XML: no element found"),
        ("", "is not XML"),
        ("<config/>", "begins with <config>; it must begin with <configuration>"),
        (
            site(f'<xi:include {XI} href="none.xml"/>'),
            "includes none.xml, which is not there, and has no xi:fallback",
        ),
        (site(f'<xi:include {XI} href="0-site.xml"/>'), "files include each other more than 20 deep"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    """The error has the path and the reason."""
    with pytest.raises(BadConfigurationError, match=re.escape(message)) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "0-site.xml") in str(caught.value)


def test_a_directory_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    """The error has the message of the operating system."""
    with pytest.raises(BadConfigurationError, match="Is a directory"):
        Configuration.read([tmp_path], {})
