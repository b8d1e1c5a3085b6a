"""A child: the loop over its units, and how each is committed."""
