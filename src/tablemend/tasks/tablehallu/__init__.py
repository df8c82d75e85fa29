"""TableHallu: a table that a query asks for, from an adversarial context (sections 3 and 4)."""
