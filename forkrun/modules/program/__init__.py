"""What a job gets of the program in Python that runs it: functions, and values of its modules."""
