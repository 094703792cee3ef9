"""What both programs do alike: what a person reads and sets, standard streams, files that outlast a power cut."""
