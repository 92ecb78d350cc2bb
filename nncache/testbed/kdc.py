"""A Kerberos KDC (MIT) on this machine: its principals, their keytabs and their tickets."""

import os
import re
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from nncache.testbed import readiness
from nncache.testbed.errors import KerberosError
from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.programs import find_programs
from nncache.testbed.spec import REALM
from nncache.testbed.workplace import run

PROGRAMS = ("kadmin.local", "kdb5_util", "kinit", "krb5kdc")
_START_TIMEOUT_S = 30.0
_ODD = re.compile(r"[^A-Za-z0-9._-]")


def krb5_conf(directory: Path) -> Path:
    """Return where the KDC of this directory keeps what its clients read."""
    return directory / "krb5.conf"


def keytab(directory: Path, name: str) -> Path:
    """Return where the KDC of this directory keeps a keytab."""
    return directory / "keytabs" / f"{_ODD.sub('-', name)}.keytab"


class Kdc:
    """A KDC of the realm TEST.LOCAL: where it listens, its process, its principals.

    Names of principals are given without the realm: "alice", "HTTP/localhost". To stop, pause and start it again, use
    `process`. Any user may run it; all that it reads and writes is below `directory`.
    """

    def __init__(self, directory: Path, port: int, *, log: Path, lifeline: Lifeline) -> None:
        """Write its configuration without starting anything; use `start()`."""
        self.directory = directory  # krb5.conf, the database, keytabs and tickets
        self.krb5_conf = krb5_conf(directory)  # KRB5_CONFIG of clients, -Djava.security.krb5.conf of a JVM
        self.address = f"127.0.0.1:{port}"  # "127.0.0.1:port", TCP alone
        for place in (directory / "keytabs", directory / "tickets"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = {"realm": REALM, "address": self.address, "directory": directory}
        for name in ("krb5.conf", "kdc.conf"):
            template = resources.files("nncache.testbed").joinpath(f"{name}.in").read_text(encoding="utf-8")
            (directory / name).write_text(template.format_map(facts), encoding="utf-8")
        self._environ = {**os.environ, **self.environ(), "KRB5_KDC_PROFILE": str(directory / "kdc.conf")}
        self._programs = dict(zip(PROGRAMS, find_programs(*PROGRAMS), strict=True))
        self.process = ServerProcess(
            "kdc",
            (self._programs["krb5kdc"], "-n"),
            log=log,
            environ=self._environ,
            lifeline=lifeline,
            is_up=lambda: readiness.accepts(self.address),
            timeout_s=_START_TIMEOUT_S,
        )

    def start(self) -> None:
        """Make the database, unless the directory has one from an earlier run, and start."""
        if not (self.directory / "principal").exists():
            self._run("kdb5_util", "create", "-s", "-P", "x", "-r", REALM)
        self.process.start()

    def environ(self, ccache: Path | None = None) -> dict[str, str]:
        """Return the variables with which a program finds this KDC and, if given, the tickets in a ccache file."""
        found = {"KRB5_CONFIG": str(self.krb5_conf)}
        return found if ccache is None else found | {"KRB5CCNAME": f"FILE:{ccache}"}

    def principals(self) -> frozenset[str]:
        """Return the names of all principals, those of the KDC itself included."""
        lines = self._kadmin("listprincs").splitlines()
        suffix = f"@{REALM}"
        return frozenset(line.removesuffix(suffix) for line in lines if line.endswith(suffix))

    def add(self, *names: str) -> None:
        """Make principals with random keys."""
        self._kadmin(*(f"addprinc -clearpolicy -randkey {name}" for name in names))

    def change_key(self, name: str) -> None:
        """Give a principal another key: its keytabs are of no more use, tickets are until they end."""
        self._kadmin(f"cpw -randkey {name}")

    def keytab(self, name: str, *principals: str) -> Path:
        """Write the present keys of these principals (default: of the one called `name`) and return the file.

        A file of that name is replaced at once, as an administrator would do it.
        """
        return self.keytabs({name: principals or (name,)})[0]

    def keytabs(self, wanted: Mapping[str, tuple[str, ...]]) -> tuple[Path, ...]:
        """Write several keytabs, given the principals of each by its name, as `keytab` does."""
        files = {name: keytab(self.directory, name) for name in wanted}
        fresh = {name: file.with_suffix(".new") for name, file in files.items()}
        for file in fresh.values():
            file.unlink(missing_ok=True)
        try:
            self._kadmin(*(f"ktadd -norandkey -k {fresh[name]} {' '.join(wanted[name])}" for name in wanted))
            for name, file in files.items():
                fresh[name].replace(file)
        finally:
            for file in fresh.values():
                file.unlink(missing_ok=True)
        return tuple(files.values())

    def kinit(
        self,
        name: str,
        *,
        lifetime_s: int = 3600,
        ccache: Path | None = None,
        keytab_file: Path | None = None,
    ) -> Path:
        """Get a ticket for a principal by its keytab and return the ccache file that holds it.

        Args:
            name: of the principal; its keytab is made when it has none of its own yet.
            lifetime_s: seconds until the ticket ends; at most 24 hours.
            ccache: the file to write; None: the principal's own, which this ticket then replaces.
            keytab_file: the keytab to use in place of the principal's own.
        """
        keys = keytab_file or keytab(self.directory, name)
        if not keys.exists():
            self.keytab(name)
        file = ccache or self.directory / "tickets" / _ODD.sub("-", name)
        self._run(
            "kinit", "-k", "-t", str(keys), "-c", f"FILE:{file}", "-l", f"{lifetime_s}s", f"{name}@{REALM}"
        )
        return file

    def _kadmin(self, *lines: str) -> str:
        done = self._run("kadmin.local", stdin="".join(f"{line}\n" for line in lines))
        # It exits with 0 whatever becomes of the lines, and writes errors alone to its standard error.
        if done.stderr.strip():
            raise KerberosError(f"kadmin.local: {done.stderr.strip()}")
        return done.stdout

    def _run(self, program: str, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        try:
            done = run((self._programs[program], *arguments), environ=self._environ, stdin=stdin)
        except subprocess.TimeoutExpired as exc:
            raise KerberosError(f"{program} did not end within {exc.timeout:.0f} s") from exc
        if done.returncode != 0:
            raise KerberosError(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done
