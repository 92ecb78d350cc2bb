"""`python -m nncache.bench.growth`."""

from nncache.bench.growth.command import main

if __name__ == "__main__":
    main()
