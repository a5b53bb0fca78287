"""The commands `ambulo push` and `ambulo pull`: models on the Hugging Face hub."""
