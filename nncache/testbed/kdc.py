"""A Kerberos KDC (MIT) on this machine: its principals, their keytabs and their tickets."""

import os
import re
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from nncache.testbed import readiness
from nncache.testbed.errors import KdcError
from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.programs import find_programs
from nncache.testbed.spec import REALM
from nncache.testbed.workplace import run

PROGRAMS = ("kadmin.local", "kdb5_util", "kinit", "krb5kdc")
_START_TIMEOUT_S = 30.0
_ODD = re.compile(r"[^A-Za-z0-9._-]")


def krb5_conf(directory: Path) -> Path:
    """Return the path of the client configuration of the KDC in this directory."""
    return directory / "krb5.conf"


def keytab(directory: Path, name: str) -> Path:
    """Return the path of a keytab of the KDC in this directory."""
    return directory / "keytabs" / f"{_ODD.sub('-', name)}.keytab"


class Kdc:
    """A KDC of the realm TEST.LOCAL: its address, its process, its principals.

    Principal names omit the realm: "alice", "HTTP/localhost". Use `process` to stop, pause and restart it. Any user
    may run it; all its files are below `directory`.
    """

    def __init__(self, directory: Path, port: int, *, log: Path, lifeline: Lifeline) -> None:
        """Write the configuration without starting the KDC; use `start()`."""
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
        """Create the database, unless the directory has one of an earlier run, and start the KDC."""
        if not (self.directory / "principal").exists():
            self._run("kdb5_util", "create", "-s", "-P", "x", "-r", REALM)
        self.process.start()

    def environ(self, ccache: Path | None = None) -> dict[str, str]:
        """Return the environment variables for using this KDC and, if given, the tickets of a ccache file."""
        found = {"KRB5_CONFIG": str(self.krb5_conf)}
        return found if ccache is None else found | {"KRB5CCNAME": f"FILE:{ccache}"}

    def principals(self) -> frozenset[str]:
        """Return the names of all principals, including the KDC's own."""
        lines = self._kadmin("listprincs").splitlines()
        suffix = f"@{REALM}"
        return frozenset(line.removesuffix(suffix) for line in lines if line.endswith(suffix))

    def add(self, *names: str) -> None:
        """Create principals with random keys."""
        self._kadmin(*(f"addprinc -clearpolicy -randkey {name}" for name in names))

    def change_key(self, name: str) -> None:
        """Change a principal's key. Its keytabs become invalid; its tickets remain valid until they expire."""
        self._kadmin(f"cpw -randkey {name}")

    def keytab(self, name: str, *principals: str) -> Path:
        """Write the current keys of these principals (default: the principal `name`) to a keytab, and return the file.

        An existing file is replaced atomically, as an administrator would do it.
        """
        return self.keytabs({name: principals or (name,)})[0]

    def keytabs(self, wanted: Mapping[str, tuple[str, ...]]) -> tuple[Path, ...]:
        """Write several keytabs as `keytab` does; `wanted` maps each keytab's name to its principals."""
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
        """Get a ticket for a principal with its keytab, and return the ccache file that holds it.

        Args:
            name: the principal; its keytab is created if it has none.
            lifetime_s: seconds until the ticket expires; at most 24 hours.
            ccache: the file to write; None: the principal's own, whose ticket is replaced.
            keytab_file: the keytab to use instead of the principal's own.
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
        # It always exits with 0, and writes only errors to its standard error.
        if done.stderr.strip():
            raise KdcError(f"kadmin.local: {done.stderr.strip()}")
        return done.stdout

    def _run(self, program: str, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        try:
            done = run((self._programs[program], *arguments), environ=self._environ, stdin=stdin)
        except subprocess.TimeoutExpired as exc:
            raise KdcError(f"{program} did not end within {exc.timeout:.0f} s") from exc
        if done.returncode != 0:
            raise KdcError(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done
