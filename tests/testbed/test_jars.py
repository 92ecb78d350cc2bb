"""Class paths from Maven; here a shell script stands in for Maven."""

import os
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nncache.testbed.errors import MissingToolError, ResolveError
from nncache.testbed.jars import cache_directory, java, resolve
from nncache.testbed.java import JavaRuntime

Environ = dict[str, str]

WORKING = """\
echo "$@" >> "$HOME/calls"
sleep 0.2
echo '[INFO] Downloading from central: https://repo.example/org/apache/hadoop/x/hadoop-x-3.5.0.jar'
for argument in "$@"; do case "$argument" in -Dmdep.outputFile=*)
    printf %s "$HOME/hadoop-client-minicluster-1.jar:$HOME/other-1.jar" > "${argument#*=}" ;;
esac; done
"""
FAILING = "echo '[INFO] x'; echo '[ERROR] Could not find artifact y'; echo '[ERROR] -X for more'; exit 1"


def program(directory: Path, name: str, script: str) -> None:
    """Put an executable into a directory."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (directory / name).chmod(0o755)


@pytest.fixture
def environ(tmp_path: Path) -> Environ:
    """An environment with a Java, a working Maven, two jars and nothing else."""
    program(tmp_path / "bin", "java", "exit 0")
    program(tmp_path / "bin", "mvn", WORKING)
    for jar in ("hadoop-client-minicluster-1.jar", "other-1.jar"):
        with zipfile.ZipFile(tmp_path / jar, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/b.txt", "x" * 10_000)
    return {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"}


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that lists the Maven calls so far."""
    log = tmp_path / "calls"
    return lambda: log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_a_missing_maven_alone_is_named_alone(environ: Environ, tmp_path: Path) -> None:
    """The install command names only the missing package."""
    (tmp_path / "bin" / "mvn").unlink()
    with pytest.raises(MissingToolError, match=r"^not installed: mvn; install with: apt-get install maven$"):
        resolve("3.5.0", environ=environ | {"PATH": str(tmp_path / "bin")})


def test_maven_is_asked_once(environ: Environ, calls: Callable[[], list[str]]) -> None:
    """The second run needs neither network nor Maven."""
    reported: list[str] = []
    first = resolve("3.5.0", environ=environ, progress=reported.append)
    assert resolve("3.5.0", environ=environ) == first
    assert len(calls()) == 1
    assert "-Dhadoop.version=3.5.0" in calls()[0]
    assert "Hadoop 3.5.0: fetching hadoop-x-3.5.0.jar" in reported


def test_two_runs_at_once_ask_maven_once(environ: Environ, calls: Callable[[], list[str]]) -> None:
    """One run calls Maven; the other waits, reports that, and uses the result."""
    reported: list[str] = []
    threads = [
        threading.Thread(target=resolve, kwargs={"environ": environ, "progress": reported.append})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls()) == 1
    assert "another run is fetching Hadoop's jars; waiting for it" in reported


def test_a_jar_that_has_gone_is_asked_for_again(
    environ: Environ, calls: Callable[[], list[str]], tmp_path: Path
) -> None:
    """Maven's local repository may be cleared at any time."""
    resolve("3.5.0", environ=environ)
    (tmp_path / "other-1.jar").rename(tmp_path / "elsewhere.jar")
    with pytest.raises(ResolveError, match="that are not there"):
        resolve("3.5.0", environ=environ)
    (tmp_path / "elsewhere.jar").rename(tmp_path / "other-1.jar")
    resolve("3.5.0", environ=environ)
    assert len(calls()) == 2


def test_the_jars_that_are_read_whole_are_kept_unpacked(environ: Environ) -> None:
    """The copy has the same entries without compression; other jars stay in Maven's repository."""
    unpacked, other = resolve("3.5.0", environ=environ)
    assert unpacked.is_relative_to(cache_directory(environ))
    assert not other.is_relative_to(cache_directory(environ))
    with zipfile.ZipFile(unpacked) as archive:
        (entry,) = archive.infolist()
        assert (entry.filename, entry.compress_type) == ("a/b.txt", zipfile.ZIP_STORED)
        assert archive.read(entry) == b"x" * 10_000


def test_a_failure_is_one_line_in_the_words_of_maven(environ: Environ, tmp_path: Path) -> None:
    """The failure is not cached."""
    program(tmp_path / "bin", "mvn", FAILING)
    with pytest.raises(ResolveError) as caught:
        resolve("3.5.0", environ=environ)
    assert str(caught.value) == "Maven could not bring Hadoop 3.5.0 (exit 1): Could not find artifact y"
    program(tmp_path / "bin", "mvn", WORKING)
    assert len(resolve("3.5.0", environ=environ)) == 2


def test_an_archive_that_is_being_written_is_not_used(tmp_path: Path) -> None:
    """A partial archive has an empty header; an archive for other jars has another name."""
    runtime = JavaRuntime(java=java(), jars=(Path("/m/a.jar"),), archives=tmp_path)

    def archive(runtime: JavaRuntime) -> tuple[str, str]:
        (option,) = (each for each in runtime.command("M", configuration=tmp_path) if ".jsa" in each)
        use, _, path = option.partition("=")
        return use, path

    use, path = archive(runtime)
    assert use == "-XX:ArchiveClassesAtExit"
    Path(path).write_bytes(bytes(100))
    assert archive(runtime) == (use, path)
    Path(path).write_bytes(b"\1" + bytes(100))
    assert archive(runtime) == ("-XX:SharedArchiveFile", path)
    assert archive(replace(runtime, jars=(Path("/m/b.jar"),)))[1] != path
