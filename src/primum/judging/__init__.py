"""The judgement of a difference between two models: losses, disagreement, verdict, words."""
