"""proftrace: a line profiler and a memory profiler for CPython."""
