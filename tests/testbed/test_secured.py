"""What Kerberos adds to a cluster's configuration. That it is enough: tests/secured/test_cluster.py."""

import re
from pathlib import Path

import pytest

from nncache.testbed import KdcServer, secured
from nncache.testbed.spec import ClusterSpec, Kerberos, ProxyUser

SECRET = Path("/d/secret")


def keys(kerberos: Kerberos | None = None, *, ha: bool = False) -> dict[str, str]:
    """Return the keys that a cluster of this kind adds."""
    kerberos = kerberos or Kerberos()
    spec = ClusterSpec(kerberos=kerberos, superuser="hdfs", ha=ha)
    return secured.properties(spec, kerberos, Path("/d"), SECRET)


def test_every_server_has_its_principal_and_all_share_one_keytab() -> None:
    """A JournalNode only where there is one."""
    settings = keys()
    assert settings["dfs.namenode.kerberos.principal"] == "nn/_HOST@TEST.LOCAL"
    assert settings["dfs.datanode.kerberos.principal"] == "dn/_HOST@TEST.LOCAL"
    assert not any("journalnode" in key for key, value in settings.items() if value)
    pair = keys(ha=True)
    assert pair["dfs.journalnode.kerberos.principal"] == "jn/_HOST@TEST.LOCAL"
    assert pair["dfs.journalnode.kerberos.internal.spnego.principal"] == "HTTP/_HOST@TEST.LOCAL"
    assert {value for key, value in pair.items() if "keytab" in key} == {"/d/kdc/keytabs/servers.keytab"}


def test_the_servers_act_as_the_superuser() -> None:
    """So that the superuser is the same with Kerberos and without."""
    rule = re.fullmatch(
        r"RULE:\[2:\$1/\$2@\$0\]\((.*)\)s/(.*)/(.*)/ DEFAULT", keys()["hadoop.security.auth_to_local"]
    )
    assert rule is not None
    assert rule[3] == "hdfs"
    names = [f"{name}/localhost@TEST.LOCAL" for name in ("nn", "dn", "jn", "HTTP", "nncache")]
    assert [re.fullmatch(rule[1], name) is not None for name in names] == [True, True, True, False, False]


def test_options_are_keys_of_hadoop() -> None:
    """And what is not asked for is Hadoop's own default."""
    settings = keys(Kerberos(protection="privacy,integrity", cookie_validity_s=7))
    assert settings["hadoop.rpc.protection"] == "privacy,integrity"
    assert settings["hadoop.http.authentication.token.validity"] == "7"
    assert "hadoop.http.authentication.token.validity" not in keys()


def test_the_mistake_of_an_administrator_can_be_made() -> None:
    """The key without which WebHDFS believes `user.name` is left out, and nothing else."""
    right, wrong = keys(), keys(Kerberos(with_http_authentication=False))
    assert right.items() - wrong.items() == {("hadoop.http.authentication.type", "kerberos")}
    assert wrong.items() - right.items() == {("hadoop.http.authentication.type", "")}


def test_a_proxy_user_has_rules() -> None:
    """An empty one is left out when the file is written."""
    settings = keys(Kerberos(proxy_users=(ProxyUser(name="proxy", hosts="10.0.0.1", users="alice"),)))
    rules = {key: value for key, value in settings.items() if key.startswith("hadoop.proxyuser.proxy.")}
    assert rules == {
        "hadoop.proxyuser.proxy.hosts": "10.0.0.1",
        "hadoop.proxyuser.proxy.users": "alice",
        "hadoop.proxyuser.proxy.groups": "",
    }


def test_the_namenodes_of_a_pair_share_their_secret_or_do_not(tmp_path: Path) -> None:
    """It is kept for the next start."""
    for place, one in ((tmp_path / "one", True), (tmp_path / "two", False)):
        place.mkdir()
        kerberos = Kerberos(one_http_secret=one)
        written = [secured.write_http_secret(place, namenode, kerberos) for namenode in ("nn1", "nn2", "nn1")]
        assert (written[0] == written[1]) == one
        assert written[2] == written[0]
        assert secured.http_secret(place, "nn1").stat().st_mode & 0o777 == 0o600
        assert secured.own_secret(place, "nn2") == {
            "hadoop.http.authentication.signature.secret.file": str(place / "http-secret-nn2")
        }


def test_principals_are_made_once(kdc_server: KdcServer) -> None:
    """A second start of the same directory finds them; a superuser may be called like a keytab."""
    spec = ClusterSpec(superuser="proxy", kerberos=Kerberos(principals=("etl",)))
    assert spec.kerberos is not None
    for _ in range(2):
        secured.add_principals(kdc_server, spec, spec.kerberos)
        for name in ("alice", "proxy", "etl", secured.SERVICE, secured.PROXY):
            assert kdc_server.kinit(name).exists()
    assert "dr.who" not in kdc_server.principals()


def test_a_protection_that_hadoop_does_not_know_is_refused() -> None:
    """With the words that it knows."""
    with pytest.raises(ValueError, match="'private' must be one of authentication, integrity, privacy"):
        Kerberos(protection="integrity,private")
