"""Hadoop's own commands."""

import sys

from nncache.testbed.shell import ShellResult, environment, run


def test_a_failure_is_a_result() -> None:
    """Tests compare exit codes and texts of failures as well."""
    code = "import sys; print(sys.stdin.read()); sys.exit('why')"
    assert run((sys.executable, "-c", code), environ={}, stdin="in") == ShellResult(1, "in\n", "why\n")


def test_an_installed_hadoop_does_not_mix_in() -> None:
    """Its configuration directory would come before ours."""
    installed = {"HADOOP_CONF_DIR": "/etc/hadoop", "HDFS_NAMENODE_OPTS": "-x", "PATH": "/bin"}
    assert environment("alice", installed) == {"PATH": "/bin", "HADOOP_USER_NAME": "alice"}
