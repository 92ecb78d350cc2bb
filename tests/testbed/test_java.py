"""Command lines for main classes."""

import os
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

from nncache.testbed.jars import java, resolve
from nncache.testbed.java import FS_SHELL, NAMENODE, JavaRuntime
from tests.cluster import HADOOP

RUNTIME = JavaRuntime(java="/j/bin/java", jars=(Path("/m/a.jar"), Path("/m/b.jar")))


def test_the_configuration_comes_last() -> None:
    """So that a shared archive fits; see the next test for what that takes."""
    assert RUNTIME.classpath(Path("/c")).split(os.pathsep) == ["/m/a.jar", "/m/b.jar", "/c"]


def test_no_jar_holds_a_configuration() -> None:
    """A log4j.properties or hdfs-site.xml inside a jar would win over the configuration's directory."""
    for jar in resolve(HADOOP):
        with zipfile.ZipFile(jar) as entries:
            names = set(entries.namelist())
        assert not [name for name in names if name == "log4j.properties" or name.endswith("-site.xml")], jar


def test_what_was_loaded_is_written_once_and_used_from_then_on(tmp_path: Path) -> None:
    """By a real JVM; the next one says where its classes are from."""
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    runtime = JavaRuntime(java=java(), jars=resolve(HADOOP), archives=tmp_path)
    command = runtime.command(FS_SHELL, "-help", configuration=tmp_path)
    assert any(option.startswith("-XX:ArchiveClassesAtExit=") for option in command)
    first = subprocess.run(command, check=True, capture_output=True)
    command = runtime.command(FS_SHELL, "-help", configuration=tmp_path, jvm=("-Xlog:class+load",))
    assert any(option.startswith("-XX:SharedArchiveFile=") for option in command)
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"{FS_SHELL} source: shared objects file (top)" in again.stdout
    assert b"[warning]" not in first.stdout + first.stderr


def test_an_archive_that_is_being_written_is_not_used(tmp_path: Path) -> None:
    """Its header is still empty; nor does one of another Java or of other jars have its name."""
    runtime = JavaRuntime(java=java(), jars=(Path("/m/a.jar"),), archives=tmp_path)

    def archive(runtime: JavaRuntime) -> tuple[str, str]:
        (option,) = (each for each in runtime.command(NAMENODE, configuration=tmp_path) if ".jsa" in each)
        use, _, path = option.partition("=")
        return use, path

    use, path = archive(runtime)
    assert use == "-XX:ArchiveClassesAtExit"
    Path(path).write_bytes(bytes(100))
    assert archive(runtime) == (use, path)
    Path(path).write_bytes(b"\1" + bytes(100))
    assert archive(runtime) == ("-XX:SharedArchiveFile", path)
    assert archive(replace(runtime, jars=(Path("/m/b.jar"),)))[1] != path


def test_arguments_follow_the_class_and_options_precede_it() -> None:
    """Java takes what stands before the class for itself and hands the rest to the class."""
    command = RUNTIME.command(NAMENODE, "-format", configuration=Path("/c"), jvm=("-Xmx64m",))
    at = command.index(NAMENODE)
    assert command[0] == "/j/bin/java"
    assert "-Xmx64m" in command[:at]
    assert command[at + 1 :] == ("-format",)


def test_hadoop_may_look_into_the_packages_it_reflects_on() -> None:
    """Java 17 opens none of them by itself."""
    command = RUNTIME.command(NAMENODE, configuration=Path("/c"))
    opened = {option.split("/")[1].split("=")[0] for option in command if option.startswith("--add-opens")}
    assert opened == {"java.lang", "java.util", "java.nio"}
