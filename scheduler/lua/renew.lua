-- renew: prolong the leases of grants that are alive. Repeating it does no harm, so it takes no request token.
-- Atomic: a stale grant renews nothing and is told so. A grant that was asked to stop is told that too.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: lease_ms, (id, attempt), …
--   lease_ms   what the holder counts on, of a grant that a worker's thread holds; 0: the setting
-- Returns: one of RENEWED | CANCEL | STALE each; CANCEL is renewed, but its cancellation was asked for
transition('renew', function(lease_ms, ...)
    local answers, grants = {}, {...}
    lease_ms = lease_ms == '0' and setting('lease_ttl_ms') or tonumber(lease_ms)
    for i = 1, #grants, 2 do
        local id, asked = grants[i], grants[i + 1]
        local found = call('HMGET', D.meta(id), 'state', 'attempt', 'cancel')
        local state, attempt, cancel = found[1], found[2], found[3]
        local code = 'STALE'
        if attempt == asked then
            if state == 'RUNNING' then
                call('ZADD', K.lease, 'XX', 'GT', now + lease_ms, id)
                code = cancel and 'CANCEL' or 'RENEWED'
            elseif state == 'POD' or state == 'CANCELLING' then
                call('ZADD', K.pod_lease, 'XX', 'GT', now + setting('pod_lease_ttl_ms'), id)
                code = cancel and 'CANCEL' or 'RENEWED'
            end
        end
        answers[#answers + 1] = code
    end
    return answers
end)
