-- resume: end a pause; its length is added up, so that the time paused does not count as waiting.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: gate
--   gate   a gate key, `lane:NAME` or `*` for everything
-- Returns: 1 if it was paused before, else 0
transition('resume', function(gate)
    local since = call('HGET', K.paused, gate)
    if not since then return 0 end
    call('HDEL', K.paused, gate)
    call('HINCRBY', K.paused, gate .. '\ntotal', math.max(0, now - tonumber(since)))
    reindex(gate)
    for _, lane in ipairs(call('ZRANGE', K.lanes, 0, -1)) do touched[lane] = true end
    return 1
end)
