"""The programs that the test bed needs, from Debian's packages."""

import os
import shutil
from collections.abc import Mapping
from typing import Final

from nncache.testbed.errors import MissingToolError

_PACKAGES: Final[Mapping[str, str]] = {
    "java": "openjdk-17-jre-headless",
    "kadmin.local": "krb5-admin-server",
    "kdb5_util": "krb5-kdc",
    "kinit": "krb5-user",
    "krb5kdc": "krb5-kdc",
    "mvn": "maven",
    "nginx": "nginx-light",
}
"""The package of each program; a program that is not listed has its package's name."""

SBIN: Final = ("/usr/sbin", "/sbin")
"""Debian's directories of servers, which only root's PATH has."""


def find_programs(*names: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the paths of programs.

    Raises:
        MissingToolError: some are missing; the text names one command that installs all of them.
    """
    path = os.pathsep.join((environ.get("PATH", os.defpath), *SBIN))
    found = {name: shutil.which(name, path=path) for name in names}
    missing = [name for name, program in found.items() if program is None]
    if missing:
        packages = " ".join(dict.fromkeys(_PACKAGES.get(name, name) for name in missing))
        raise MissingToolError(
            f"not installed: {', '.join(missing)}; install with: apt-get install {packages}"
        )
    return tuple(filter(None, found.values()))


def find_program(name: str) -> str:
    """Return the path of a program, as `find_programs` does."""
    return find_programs(name)[0]
