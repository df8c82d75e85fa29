"""Claims that many cells decide: superlatives, ranks, comparisons, counts, quantifiers, sums."""
