-- pause: nothing passes this gate until it is resumed; what runs goes on, what waits does not become stale meanwhile.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: gate
--   gate   a gate key, `lane:NAME` or `*` for everything
-- Returns: 1 if it was not paused before, else 0
transition('pause', function(gate)
    local began = call('HSETNX', K.paused, gate, now)
    any_paused = true
    reindex(gate)
    return began
end)
