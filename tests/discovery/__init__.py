"""`make bulk-filters`: thousands of filters applied from one file, beside a proxy that serves. (tests/bulk_filters/)"""
