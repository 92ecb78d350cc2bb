"""`python -m nncache.bench.inotify`. (bench/inotify/__main__.py)"""

from nncache.bench.inotify.command import main

if __name__ == "__main__":
    main()
