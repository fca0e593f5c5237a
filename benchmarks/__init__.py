"""Benchmarks: the same work by us and by others, interleaved in one run, values compared, ratios with versions."""
