"""The processes that read, and the programs of the system they may run."""
