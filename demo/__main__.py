"""`python -m nncache.demo`."""

import sys

from nncache.demo.command import main

sys.exit(main())
