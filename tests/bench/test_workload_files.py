"""Workloads are files that are read strictly."""

from pathlib import Path

import pytest

from nncache.bench.shared.workload_files import WorkloadError, load, names

GOOD = """
description = "some"
pollers = 10
period_s = 1.0
globs = 2
paths = 4
"""


def test_all_ready_workloads_are_right() -> None:
    """Each is read by its name, and says what it is."""
    assert set(names()) >= {
        "design",
        "many_callers",
        "directory_per_file",
        "mostly_misses",
        "permission_change",
        "rename_into_place",
        "thundering_herd",
    }
    for name in names():
        workload = load(name)
        assert workload.name == name
        assert len(workload.description) > 20
        assert workload.pollers == 10_000


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    """What it does not say has its default."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    workload = load(str(file))
    assert (workload.name, workload.pollers, workload.paths_per_poller) == ("mine", 10, 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("polers = 3", "no such key: polers"),
        ("seed = 3", "no such key: seed"),
        ("changes_per_s = 1.0", "kinds: something must change, such as one of create,"),
        ("changes_per_s = -1.0", "a rate can't be below 0"),
        ("exist_share = 2.0", "exist_share: 2.0 is not between 0 and 1"),
        ("time_factor = 0.0", "time_factor: 0.0 is not above 0"),
        ('callers = "me"', "Invalid enum value 'me'"),
        ("[kinds]\nexplode = 1.0", "Invalid enum value 'explode'"),
        ('events = [{ at = 2.0, kind = "touch" }]', "`at` is a share of the measured time (0 to 1)"),
        ("description = 3", "Cannot overwrite a value"),
        ("x = ", "Invalid value"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, more: str, says: str) -> None:
    """And what would be right."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD + more, encoding="utf-8")
    with pytest.raises(WorkloadError) as caught:
        load(str(file))
    assert str(caught.value).startswith(str(file))
    assert says in str(caught.value)


def test_more_globs_than_paths_make_no_sense(tmp_path: Path) -> None:
    """Each glob has a path at least."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace("globs = 2", "globs = 5"), encoding="utf-8")
    with pytest.raises(WorkloadError, match="paths: 4 paths can't match 5 globs each"):
        load(str(file))
