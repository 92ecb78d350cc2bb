"""What the Kerberos libraries say, and what an operator is to do."""

import pytest

from nncache.hadoop.kerberos.advice import advice_for, with_advice


@pytest.mark.parametrize(
    ("said", "to_do"),
    [
        ("Clock skew too great", "NTP"),
        ("Ticket not yet valid", "NTP"),
        ("Cannot contact any KDC for realm 'TEST.LOCAL'", "can be reached"),
        ('Cannot find KDC for realm "NO.SUCH"', "krb5.conf"),
        ("Server nn/x@R not found in Kerberos database", "server by its host name"),
        ("Client 'late/x@R' not found in Kerberos database", "principal is spelt right"),
        ("Preauthentication failed", "export the keytab again"),
        ("Decrypt integrity check failed", "export the keytab again"),
        ("Ticket expired", "kinit -R"),
        ("Permission denied", "may read"),
    ],
)
def test_what_is_known_has_advice(said: str, to_do: str) -> None:
    """Behind the text itself, which is what an operator looks for elsewhere."""
    assert to_do in advice_for(said)
    assert with_advice(said) == f"{said}: {advice_for(said)}"


def test_what_is_not_known_stands_alone() -> None:
    """No guess."""
    assert advice_for("Something new") == ""
    assert with_advice("Something new") == "Something new"
