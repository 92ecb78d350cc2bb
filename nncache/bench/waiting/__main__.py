"""`python -m nncache.bench.waiting`. (bench/waiting/__main__.py)"""

from nncache.bench.waiting.command import main

if __name__ == "__main__":
    main()
