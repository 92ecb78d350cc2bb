"""Processes of load: one that ends or hangs is an error, not a benchmark that never ends."""

import multiprocessing
from multiprocessing.connection import Connection

import pytest

from nncache.bench.apart import apart, next_of


def says_one_thing(pipe: Connection, what: str) -> None:
    """Be a process of load that ends too early."""
    pipe.send(what)
    pipe.close()


def test_a_process_of_load_that_ends_is_an_error() -> None:
    """And nothing is waited for."""
    with apart(says_one_thing, "ready") as pipe:
        assert next_of(pipe, 60.0) == "ready"
        with pytest.raises(ConnectionError, match="has ended"):
            next_of(pipe, 60.0)


def test_a_process_of_load_that_hangs_is_an_error() -> None:
    """After a while."""
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs, pytest.raises(TimeoutError, match="hangs"):
        next_of(ours, 0.01)
