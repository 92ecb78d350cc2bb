"""`nncache completion`: a shell that reads it completes commands and options."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.commands.group import nncache


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_is_for_the_program_as_installed(shell: str) -> None:
    """By its name, with click's own variable."""
    result = CliRunner().invoke(nncache, ["completion", shell])
    assert result.exit_code == 0
    assert f"_NNCACHE_COMPLETE={shell}_complete" in result.output
    assert "nncache" in result.output


def test_another_shell_is_refused_by_name() -> None:
    """As a wrong word."""
    result = CliRunner().invoke(nncache, ["completion", "csh"])
    assert (result.exit_code, "'csh' is not one of 'bash', 'zsh', 'fish'" in result.output) == (2, True)


def test_bash_completes_with_it() -> None:
    """In a real bash: a command of a group, and an option."""
    place = Path(sys.executable).parent
    ask = (
        f'PATH={place}:$PATH; source <(nncache completion bash); COMP_WORDS=(nncache $1 "$2"); COMP_CWORD=$3; '
        '_nncache_completion nncache; echo "${COMPREPLY[@]}"'
    )

    def completed(before: str, begun: str, at: int) -> list[str]:
        command = ["bash", "-c", ask, "bash", before, begun, str(at)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()

    assert completed("filters", "ex", 2) == ["export"]
    assert completed("explain", "--conf", 2) == ["--config"]
