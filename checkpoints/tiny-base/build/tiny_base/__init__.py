"""How the embedded base is built: recipe, exercises, tokenizer, model, training."""
