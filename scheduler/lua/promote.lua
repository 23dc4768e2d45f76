-- promote: make executions that are due PENDING, scored by their due time.
-- Atomic for each execution; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: the number promoted | 'STALE_EPOCH'
-- Uses: promoting, transitions
led('promote', function(count)
    return promote_due(tonumber(count))
end)
