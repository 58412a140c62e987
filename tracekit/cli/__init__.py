"""The command line, one file a command. The only room that may import every other, and the only one that nobody imports."""
