"""Reports of companies, and the numbers in them that can be masked (FAITH, sections 3 and 4)."""
