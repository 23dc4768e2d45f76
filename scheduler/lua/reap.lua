-- reap: take back grants whose lease ran out (D5). Their executions wait again at their original score; after more than
-- max_crashes of this they are dead letters. Atomic for each; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: the number looked at | 'STALE_EPOCH'
-- Uses: reaping, transitions
led('reap', function(count)
    return reap_expired(tonumber(count))
end)
