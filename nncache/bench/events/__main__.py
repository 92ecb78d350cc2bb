"""`python -m nncache.bench.events`."""

from nncache.bench.events.command import main

if __name__ == "__main__":
    main()
