"""`python -m nncache.bench.events`. (bench/events/__main__.py)"""

from nncache.bench.events.command import main

if __name__ == "__main__":
    main()
