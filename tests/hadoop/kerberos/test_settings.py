"""Which combinations of settings make an identity."""

import pytest

from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.net.setting_error import SettingError


def test_nothing_is_no_identity() -> None:
    """And it is the default; what the NameNodes are may be known all the same, from hdfs-site.xml."""
    assert not KerberosSettings(namenode_principal="nn/_HOST@R").has_identity
    assert KerberosSettings(principal="a/_HOST@R", keytab="/k").has_identity
    assert KerberosSettings(ticket_cache="FILE:/t").has_identity


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"principal": "a/b/c@R", "keytab": "/k"}, "principal: a/b/c@R: must be a Kerberos principal"),
        ({"namenode_principal": "@"}, "namenode_principal: @: must be a Kerberos principal"),
        ({"principal": "a@R"}, "keytab: none: must name the file with the key of a@R"),
        ({"keytab": "/k"}, "principal: none: must say which key of keytab is meant"),
        (
            {"principal": "a@R", "keytab": "/k", "ticket_cache": "t"},
            "ticket_cache: t: must not be given beside keytab",
        ),
        ({"principal": "_HOST@R", "keytab": "/k"}, "must name a service before _HOST"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, str], said: str) -> None:
    """With the key and what would be right."""
    with pytest.raises(SettingError) as caught:
        KerberosSettings(**given)  # type: ignore[arg-type] # all of these are texts
    assert said in str(caught.value)
