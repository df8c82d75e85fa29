"""The tables and figures of the papers, made again and shown beside what was published."""
