"""Signals that ask for the end."""

import os
import signal

import pytest

from nncache.testbed.ending import ENDING_SIGNALS, signals_end_it, wait_for_the_end


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_is_an_interrupt_and_the_next_one_nothing(number: signal.Signals) -> None:
    """What was started is stopped in between; afterwards signals mean what they meant."""
    before = signal.getsignal(number)
    stopped = list[str]()

    def run() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)  # amid the stopping
            stopped.append("all")

    with pytest.raises(KeyboardInterrupt), signals_end_it():
        run()
    assert stopped == ["all"]
    assert signal.getsignal(number) == before


def test_waiting_ends_with_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, or what a supervisor sends; it comes while this waits."""
    monkeypatch.setattr(signal, "pause", lambda: os.kill(os.getpid(), signal.SIGTERM))
    with signals_end_it():
        wait_for_the_end()
