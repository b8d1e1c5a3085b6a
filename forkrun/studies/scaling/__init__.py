"""How the rate of a job grows with children and threads, and what it stops at."""
