-- promote: make executions that are due PENDING, scored by their due time.
-- Atomic for each execution; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: {the number promoted, wait_ms} | 'STALE_EPOCH'
--   wait_ms   until the next one is due; -1: none is scheduled
-- Uses: now, promoting, transitions
led('promote', function(count)
    local promoted, due_at = promote_due(tonumber(count))
    return {promoted, due_at and math.max(0, math.ceil(due_at - now)) or -1}
end)
