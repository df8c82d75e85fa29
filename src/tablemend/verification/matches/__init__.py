"""Reports of one match, where one table has the two sides and another one their players."""
