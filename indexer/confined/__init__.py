"""What a process may do that reads files from anywhere: it is given open files, and the system refuses the rest."""
