"""What a job gets of the program in Python that runs it: functions, and values of its modules."""

STATE_DESCRIPTOR = "FORKRUN_PROGRAM"
"""Environment variable: the descriptor of the anonymous file that holds values of modules."""
