"""The command line: the same core without a window, one module per subcommand."""
