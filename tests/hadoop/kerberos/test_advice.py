"""The messages of Kerberos libraries, with advice for operators."""

import pytest

from nncache.hadoop.kerberos.advice import advice_for, is_about_kdc, with_advice


@pytest.mark.parametrize(
    ("message", "to_do"),
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
def test_what_is_known_has_advice(message: str, to_do: str) -> None:
    """The advice follows the original text, which operators search for elsewhere."""
    assert to_do in advice_for(message)
    assert with_advice(message) == f"{message}: {advice_for(message)}"


def test_what_is_not_known_gets_no_advice() -> None:
    """An unknown message is returned unchanged."""
    assert advice_for("Something new") == ""
    assert with_advice("Something new") == "Something new"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no Kerberos ticket for a@R: the KDC does not answer: see that", True),
        ("no Kerberos context with HTTP/h: the KDC has not answered in 2 s", True),
        ("Cannot contact any KDC for realm 'R'", True),
        ("the KDC does not know this principal", False),
        ('Cannot find KDC for realm "NO.SUCH"', False),
        ("", False),
    ],
)
def test_a_silent_kdc_is_no_wrong_setting(message: str, *, expected: bool) -> None:
    """A KDC that refuses, and a message without a KDC, are different faults."""
    assert is_about_kdc(message) is expected
