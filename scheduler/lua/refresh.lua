-- refresh: set the TTL of living executions' events and messages again, one page of one index a call (D4).
-- Atomic an execution; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: epoch, index, after, count
--   epoch   the leader's, '' for a worker's own round
--   index   pending | scheduled | lease | pod_lease
--   after   where the last page ended: its score, a space, how many of that score were seen; '' to begin
-- Returns: {refreshed, after}; after '' when the index is through | 'STALE_EPOCH'
led('refresh', function(index, after, count)
    local from, seen = string.match(after, '^(%S+) (%d+)$')
    local page = call('ZRANGEBYSCORE', K[index], from or '-inf', '+inf', 'WITHSCORES', 'LIMIT', seen or 0, count)
    local last = page[#page]
    -- Many may share one score (leases do), so the next page begins at that score, behind those seen of it.
    seen = last == from and tonumber(seen) or 0
    for i = 1, #page, 2 do
        refresh_payload(page[i])
        if page[i + 1] == last then seen = seen + 1 end
    end
    return {#page / 2, #page == tonumber(count) * 2 and last .. ' ' .. seen or ''}
end)
