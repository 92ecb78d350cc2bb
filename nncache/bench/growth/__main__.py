"""`python -m nncache.bench.growth`. (bench/growth/__main__.py)"""

from nncache.bench.growth.command import main

if __name__ == "__main__":
    main()
