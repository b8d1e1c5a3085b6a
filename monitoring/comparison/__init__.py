"""Several runs side by side: rates, memory, modules, and whether outputs are the same."""
