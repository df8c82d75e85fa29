"""The data sets of ToRR as samples with demonstrations (The Mighty ToRR, section 2)."""
