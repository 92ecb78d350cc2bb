"""`python -m nncache.bench.request_cost`. (bench/request_cost/__main__.py)"""

from nncache.bench.request_cost.command import main

if __name__ == "__main__":
    main()
