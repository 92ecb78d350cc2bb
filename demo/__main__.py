"""`python -m demo`."""

import sys

from demo.command import main

sys.exit(main())
