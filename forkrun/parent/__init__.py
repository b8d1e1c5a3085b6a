"""The parent: the job from preparation to outcome."""
