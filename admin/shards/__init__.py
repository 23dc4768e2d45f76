"""The shards of an installation as an API of one of them knows them: their figures, and which knows an execution."""
