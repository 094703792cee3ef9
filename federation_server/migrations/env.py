"""Alembic's entry: runs the migrations on the connection that federation_server.database hands over."""

from alembic import context

from federation_server.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
