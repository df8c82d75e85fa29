"""Taking a text or an answer table apart into claims."""
