"""What the group is: its terms and rankers, its members, their chains."""
