"""The first tables; a new database gets those of today (federation_server.database.upgrade)."""

revision = "0002"  # the name that the databases and backups there are carry
down_revision = None


def upgrade() -> None:
    """Nothing is older."""
