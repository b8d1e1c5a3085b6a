"""A whole analysis in one Python file: the job is built by calls and decorators, without TOML."""
