"""How models cope with other formats of the same table: the analyses of ToRR on a score cube.

Source of all of it: "The Mighty ToRR: A Benchmark for Table Reasoning and Robustness in LLMs"
(Ashury-Tahan et al. 2025), quoted by section. :mod:`.cube` holds the scores, :mod:`.scores` has
performance and robustness, :mod:`.configurations` compares serialisations and perturbations,
:mod:`.agreement` asks how far the ranking of the models can be trusted, :mod:`.comparisons` tests
pairs of models.
"""
