"""Monitoring of a job: samples of memory, CPU and reads, and the report made from them."""
