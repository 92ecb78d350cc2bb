"""Advice for the errors that Kerberos reports.

Pure. The texts are those of MIT krb5's libraries (krb5_err.et, kdb5_err.et, sendto_kdc.c; seen with 1.20.1). They are
not translated unless a program calls setlocale for messages, which Python does not. The error numbers are useless here:
the mechanism glue maps them to other numbers in each process.
"""

import re
from typing import Final

_ADVICE: Final = {
    "clock skew too great": "the clocks of this host and of the KDC or the server differ by more than 5 minutes: "
    "see that both follow NTP",
    "ticket not yet valid": "the clock of this host or the server is behind the KDC's: see that both follow NTP",
    "cannot contact any kdc": "see that the KDCs that krb5.conf (or DNS) names for the realm are up and can be "
    "reached from this host",
    "cannot find kdc": "name the realm's KDCs in krb5.conf ([realms], kdc), or see whether the realm is spelt right",
    "cannot resolve": "see that the name of the KDC in krb5.conf can be resolved on this host",
    "server .*not found": "the KDC does not know the server's principal: name the server by its host name, as in "
    "its own principal",
    "client .*not found": "the KDC does not know this principal: see that principal is spelt right, with _HOST as "
    "this host's name",
    "no suitable keys": "the keytab holds no key of this principal (klist -kt shows which it has): set principal "
    "to one of those",
    "preauthentication failed|integrity check failed|password incorrect": "the key in the keytab is not the KDC's: "
    "export the keytab again; it is read again without a restart",
    "permission denied": "see that this process's user may read the keytab or the ticket cache",
    "key table": "see that the file that keytab names is there and is a keytab",
    "ticket expired": "renew the ticket cache (kinit -R, or k5start as a daemon), or set keytab, from which "
    "tickets are renewed here",
    "credentials cache": "see that the file that ticket_cache names is there and holds a ticket of this principal "
    "(klist -c)",
    "no kerberos credentials available": "see that keytab or ticket_cache names a file with a key or a valid "
    "ticket of this principal",
    "encryption type": "the KDC, the keytab and krb5.conf (permitted_enctypes) must have an encryption type in common",
    "client's credentials have been revoked": "the KDC has locked this principal: have it unlocked",
}
"""A regular expression for the text in lower case, and the advice; the first match counts."""

_ABOUT_KDC: Final = re.compile(r"the kdc (?:does not|has not) answer|cannot contact any kdc|the kdc has left")


def is_about_kdc(text: str) -> bool:
    """Whether a message of these libraries, or of nncache, says that the KDC does not answer."""
    return _ABOUT_KDC.search(text.lower()) is not None


def advice_for(text: str) -> str:
    """Return the advice for a message of the Kerberos libraries; "" if there is none."""
    lower = text.lower()
    return next((advice for pattern, advice in _ADVICE.items() if re.search(pattern, lower)), "")


def with_advice(text: str) -> str:
    """Return the text, followed by the advice for it if there is any."""
    advice = advice_for(text)
    return f"{text}: {advice}" if advice else text
