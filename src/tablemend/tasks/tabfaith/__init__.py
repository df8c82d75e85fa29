"""TabFaith: tables of four domains, faithful summaries of them, injected errors, and the task."""
