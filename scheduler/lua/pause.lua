-- pause: let no execution pass a gate until it is resumed; running ones go on, and waiting ones do not become stale.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: gate, by
--   gate   a gate key, `lane:NAME` or `*` for everything
--   by     the operator who asks
-- Returns: 1 if it was not paused before, else 0
-- Uses: call, keys, now, settings, changes, limits, crowded, transitions
transition('pause', function(gate, by)
    local began = call('HSETNX', K.paused, gate, now)
    if began == 1 then note_change('pause', gate, '', 'paused', by) end
    if not any_paused then keep_setting('paused', 1) end
    any_paused = true
    crowded.reindex(gate)
    return began
end)
