"""`python -m nncache.demo`."""

import signal
import sys

from nncache.demo.command import main
from nncache.testbed.ending import ENDING_SIGNALS

for number in ENDING_SIGNALS:
    # What `main` goes back to: a second signal after the stopping must not change the exit code.
    signal.signal(number, signal.SIG_IGN)
sys.exit(main())
