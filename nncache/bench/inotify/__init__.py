"""What the inotify service costs, and how long it takes."""
