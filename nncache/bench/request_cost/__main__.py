"""`python -m nncache.bench.request_cost`."""

from nncache.bench.request_cost.command import main

if __name__ == "__main__":
    main()
