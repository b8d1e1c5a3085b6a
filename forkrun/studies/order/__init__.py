"""What the order of a file costs whoever reads it lumi by lumi."""
