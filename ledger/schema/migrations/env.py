"""What Alembic runs for each upgrade: on the connection that `upgrading.py` gives it, within its transaction."""

from alembic import context

from bandmaster.ledger.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a column by writing its table anew
)
with context.begin_transaction():
    context.run_migrations()
