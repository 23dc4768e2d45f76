-- wake: push tokens to every lane that has a candidate, to repair lost wake-ups; the periodic job calls it (D20).
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch
--   epoch   the leader's, '' for a worker's own round
-- Returns: the number of lanes with a candidate | 'STALE_EPOCH'
-- Uses: call, keys, changed, transitions
led('wake', function()
    local lanes = call('ZRANGE', K.lanes, 0, -1)
    for _, lane in ipairs(lanes) do changed.touched[lane] = true end
    return #lanes
end)
