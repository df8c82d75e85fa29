"""Metrics to compare with: BLEU, PARENT, BERTScore, TRUE."""
