"""FAITH: a masked number of a financial report is recovered from the report's tables."""
