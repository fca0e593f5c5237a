"""Claims about normalization: losses that do not see the size of the weights, and how they are trained."""
