-- rebuilt: note that a rebuild from the ledger has come to its end. Until it has, what Redis lost is told as not restored.
-- Atomic.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, by
--   caller number   the request token
--   by              who rebuilds
-- Returns: 1
-- Uses: changes, transitions
once('rebuilt', function(by)
    note_change('rebuild', 'ledger', '', 'ended', by)
    return 1
end)
