"""Random faults of JournalNodes and NameNodes, and what readers of their log see (`make journal-faults`)."""
