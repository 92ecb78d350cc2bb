"""`python -m nncache.bench.connects`. (bench/connects/__main__.py)"""

from nncache.bench.connects.command import main

if __name__ == "__main__":
    main()
