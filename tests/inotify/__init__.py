"""Random faults of an inotify service, and what its subscribers are told meanwhile (`make inotify-faults`)."""
