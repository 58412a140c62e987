"""The web page: what the store knows, for eyes, live."""
