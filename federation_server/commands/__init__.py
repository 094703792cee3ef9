"""The commands of foltr-server, one file each."""
