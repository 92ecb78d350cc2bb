"""Random faults of an inotify service, and the events that its subscribers receive (`make inotify-faults`)."""
