-- promote: make executions that are due PENDING, scored by their due time. One that fails on damaged data is reported,
-- tried again a second later, and holds up no other (D30).
-- Atomic for each execution; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: {the number looked at, wait_ms, {id, error, …}} | 'STALE_EPOCH'; the list only if something failed
--   wait_ms   until the next one is due; -1: none is scheduled
-- Uses: apart, now, promoting, transitions
led('promote', function(count)
    keep_apart()
    local promoted, due_at = promote_due(tonumber(count))
    return {promoted, due_at and math.max(0, math.ceil(due_at - now)) or -1, failed.all()}
end)
