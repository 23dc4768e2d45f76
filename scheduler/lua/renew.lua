-- renew: renew the leases of grants whose holders live. Repeating it does no harm, so it takes no request token.
-- Atomic: a stale grant is not renewed. The answer also says whether the execution was asked to end.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lease_ms, (id, attempt, holder), …
--   lease_ms   the lease of grants that a worker's thread holds, on which the worker relies; 0: the setting
--   holder     the grant's nonce, or `pod:` and the pod's UID; '' if only the attempt is known
-- Returns: one of RENEWED | CANCEL | STALE | ERROR each; CANCEL is renewed, but its cancellation was asked for; ERROR is not,
--   since its data is damaged; the others are
-- Uses: call, apart, keys, settings, time, journal, leases, fence, transitions
local GRANT_ARGUMENTS = 3

local function renew(id, attempt, holder, lease_ms)
    local m = load_holder(id)
    if not m or not is_holder(id, m, attempt, holder) then return 'STALE' end
    if m.state == 'RUNNING' then
        call('ZADD', K.lease, 'XX', 'GT', lease_now + lease_ms, lease_of(id, m))
    elseif m.state == 'POD' or m.state == 'CANCELLING' then
        call('ZADD', K.pod_lease, 'XX', 'GT', lease_now + setting('pod_lease_ttl_ms'), lease_of(id, m))
    else
        return 'STALE'
    end
    return m.cancel and 'CANCEL' or 'RENEWED'
end

transition('renew', function(lease_ms, ...)
    local answers, grants = {}, {...}
    keep_apart()
    lease_ms = lease_ms == '0' and setting('lease_ttl_ms') or tonumber(lease_ms)
    for i = 1, #grants, GRANT_ARGUMENTS do
        local id, attempt, holder = unpack(grants, i, i + GRANT_ARGUMENTS - 1)
        answers[#answers + 1] = apart(renew, id, attempt, holder, lease_ms) or 'ERROR'
    end
    return answers
end)
