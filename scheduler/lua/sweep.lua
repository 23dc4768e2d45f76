-- sweep: expire what has waited longer than its lane's stale timeout or its own maximum age, some a call (D19).
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, count
--   epoch   the leader's, '' for a worker's own round
-- Returns: {expired, more}; more 1: call again | 'STALE_EPOCH'
led('sweep', function(count)
    local bound = tonumber(count)
    local has_more = reindex_deadlines(bound)
    local expired, is_full = sweep_due(bound)
    return {expired, (has_more or is_full) and 1 or 0}
end)
