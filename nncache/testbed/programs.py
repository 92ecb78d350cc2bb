"""Programs that run beside the test bed, from Debian's packages."""

import os
import shutil
from collections.abc import Mapping
from typing import Final

from nncache.testbed.errors import MissingToolError

_PACKAGES: Final[Mapping[str, str]] = {"nginx": "nginx-light"}
"""By program; the others have the name of their package."""


def find_program(name: str) -> str:
    """Return the path of a program; Debian has some where only root's PATH looks."""
    program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise MissingToolError(f"{name} is missing: apt-get install {_PACKAGES.get(name, name)}")
    return program
