"""What both programs share: what a person reads and sets, standard streams, files that survive a power cut."""
