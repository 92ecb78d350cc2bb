"""`python -m nncache.bench.inotify`."""

from nncache.bench.inotify.command import main

if __name__ == "__main__":
    main()
