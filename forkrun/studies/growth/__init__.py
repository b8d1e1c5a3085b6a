"""How what a job costs grows with the number of its parts."""
