"""The commands as a user sees them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.commands.group import nncache
from nncache.errors import ConfigurationError


@pytest.mark.parametrize("words", [(), ("filters",), ("registry",)])
def test_no_summary_of_a_command_is_cut(words: tuple[str, ...]) -> None:
    """In a terminal of 80 columns."""
    assert "..." not in CliRunner().invoke(nncache, [*words, "--help"]).output.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "needless"),
    [
        (("--help",), {"nncache.settings.commands", "aiohttp", "kazoo", "rich", "uvloop"}),
        (("cluster", "--light", "--help"), {"nncache.settings.commands", "kazoo", "rich"}),
        (("proxy", "--help"), {"nncache.daemons", "aiohttp", "kazoo", "rich"}),
    ],
    ids=["the list", "a light cluster", "a daemon"],
)
def test_no_command_waits_for_the_libraries_of_another(words: tuple[str, ...], needless: set[str]) -> None:
    """It would take several times as long to begin."""
    code = (
        f"import sys; sys.argv[1:] = {words!r}\nfrom nncache.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"assert not {needless!r} & {{*sys.modules}}, {needless!r} & {{*sys.modules}}"
    )
    # A variable that is named like a setting is compared with all of them.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NNCACHE_")}
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, stdout=subprocess.DEVNULL, env=environment
    )


def test_cluster_hands_its_options_to_the_test_bed() -> None:
    """Its own help, with its own options."""
    result = CliRunner().invoke(nncache, ["cluster", "--help"])
    assert result.exit_code == 0
    assert "--with-zookeeper" in result.output


def test_the_daemons_do_not_need_the_test_bed(tmp_path: Path) -> None:
    """They start where no test bed is installed."""
    (tmp_path / "testbed.py").write_text("raise ImportError('not here')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import nncache.daemons.proxy_process, nncache.daemons.publisher_wiring, nncache.commands.group\n"
        "assert not {'testbed', 'demo'} & {name.split('.')[0] for name in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_secret_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable is read as a setting; one that would hold a secret names the key of a file instead."""
    monkeypatch.setenv("NNCACHE_ADMIN_TOKEN", "hidden")
    refused = CliRunner().invoke(nncache, ["proxy"])
    assert isinstance(refused.exception, ConfigurationError)
    assert "name that file in admin_token_file" in str(refused.exception)
    assert "hidden" not in str(refused.exception)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_is_for_the_program_as_installed(shell: str) -> None:
    """By its name, with click's own variable."""
    result = CliRunner().invoke(nncache, ["completion", shell])
    assert result.exit_code == 0
    assert f"_NNCACHE_COMPLETE={shell}_complete" in result.output
    assert "nncache" in result.output


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
