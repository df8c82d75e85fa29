"""When two values are the same: numbers, scales, units, dates, blanks and text."""
