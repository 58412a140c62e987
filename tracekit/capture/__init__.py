"""What stands outside the agent's process and writes down what passes: it feeds the spool, and judges nothing."""
