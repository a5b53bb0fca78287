"""Parts of every evaluation: the result schema, intervals, tables, the report."""
