"""Table programs: small typed expressions over a table, to execute, to say and to edit."""
