"""What the inotify service costs, and how long it takes. (bench/inotify/__init__.py)"""
