"""How models cope with other formats of the same table: the analyses of ToRR on a score cube.

Source of all of it: "The Mighty ToRR: A Benchmark for Table Reasoning and Robustness in LLMs"
(Ashury-Tahan et al. 2025), quoted by section. :mod:`.scores` holds the
scores, performance and robustness, and compares serialisations and perturbations; :mod:`.rankings`
asks how far the ranking of the models can be trusted, and tests pairs of models.
"""
