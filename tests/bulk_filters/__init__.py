"""`make bulk-filters`: thousands of filters applied from one file while a proxy serves. (tests/bulk_filters/)"""
