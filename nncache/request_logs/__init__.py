"""Access log and audit log: a line for each request, and for each that was refused. (nncache/request_logs/)"""
