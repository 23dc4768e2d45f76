"""One test a pitfall (docs/design/defects.md): it fails on a simple queue, and holds here."""
