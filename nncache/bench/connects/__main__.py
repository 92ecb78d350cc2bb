"""`python -m nncache.bench.connects`."""

from nncache.bench.connects.command import main

if __name__ == "__main__":
    main()
