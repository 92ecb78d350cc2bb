"""A short run at another poll period is the same run but for what the period changes."""

from dataclasses import replace
from pathlib import Path

import pytest

from nncache.bench.servers.nncache import Channel
from nncache.bench.settings import Mode, RunSettings
from nncache.bench.workload_files import load

LONG = RunSettings(
    workload=load("design"),
    seed=7,
    modes=(Mode.DIRECT, Mode.NNCACHE, Mode.NGINX),
    duration_s=300.0,
    warm_up_s=150.0,
    jvm_warm_up_s=60.0,
    channel=Channel.ZOOKEEPER,
    nginx_valid_s=3,
    bound_s=3.0,
    hadoop="3.5.0",
    master="local[*]",
    directory=Path("results"),
    command="",
    also_periods_s=(1.0, 30.0),
)


def test_a_long_period_has_time_for_two_polls() -> None:
    """While the cache fills and in the measured time, however short the run is."""
    short = replace(LONG, duration_s=20.0, warm_up_s=5.0)
    assert (short.at_period(0.5).duration_s, short.at_period(0.5).warm_up_s) == (20.0, 5.0)
    assert (short.at_period(30.0).duration_s, short.at_period(30.0).warm_up_s) == (60.0, 60.0)


def test_a_period_is_meant_as_it_is_run() -> None:
    """A workload whose times are shortened polls that often nevertheless."""
    tenfold = replace(LONG, workload=replace(LONG.workload, time_factor=10.0))
    assert tenfold.at_period(0.5).workload.real_period_s == pytest.approx(0.5)
