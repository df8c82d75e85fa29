"""How adversarial examples are made, with ground truth by construction."""
