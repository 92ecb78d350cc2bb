"""`python -m nncache.bench.waiting`."""

from nncache.bench.waiting.command import main

if __name__ == "__main__":
    main()
