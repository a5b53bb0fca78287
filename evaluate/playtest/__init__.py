"""Play-tests of levels: sealed areas, coverage, stuck spots, times, collisions, discomfort."""
