"""`python -m nncache.demo`."""

import sys

from nncache.demo.command import main
from nncache.testbed.ending import signals_end_it

with signals_end_it(then_ignored=True):  # a second signal after the stopping must not change the exit code
    code = main()
sys.exit(code)
