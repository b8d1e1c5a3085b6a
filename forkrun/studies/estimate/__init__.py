"""What a job's times and dependencies allow: parallelism, critical path, speed-up."""
