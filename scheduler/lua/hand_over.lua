-- hand_over: pass the grant from the worker's thread to a pod that was created (RUNNING to POD); the slot is kept.
-- Atomic: from here on the pod's end settles the grant, and the body's end does not. If it was cancelled meanwhile, it
-- is CANCELLING at once, so that the creator deletes the pod (D10).
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, attempt, holder, pod, pod_uid
--   caller number   the request token
--   holder          the grant's nonce, '' from the watch; a wrong holder or attempt is STALE
-- Returns: {code, state, wanted}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD; state POD or CANCELLING after OK
--   wanted 1: this pod, no matter who created it, is the current attempt's and shall run; else it has to be deleted
-- Uses: call, keys, now, settings, time, journal, tombstones, leases, fence, transitions
local HELD = {RUNNING = true, POD = true}

local function is_wanted(m, attempt, pod_uid)
    local is_another = m.pod_uid and m.pod_uid ~= pod_uid
    return (HELD[m.state] and not m.cancel and attempt == m.attempt and not is_another) and 1 or 0
end

once('hand_over', function(id, attempt, holder, pod, pod_uid)
    local m = load(id) or load_tombstone(id)
    if not m then return {'UNKNOWN', '', 0} end
    if m.ended_at then return {'ENDED', m.state, 0} end
    if not is_holder(id, m, attempt, holder) then return {'STALE', m.state, is_wanted(m, attempt, pod_uid)} end
    if m.state ~= 'RUNNING' then
        return {m.pod_uid == pod_uid and 'OK' or 'NOT_HELD', m.state, is_wanted(m, attempt, pod_uid)}
    end

    m.state = m.cancel and 'CANCELLING' or 'POD'
    call('HSET', D.meta(id), 'state', m.state, 'pod', pod, 'pod_uid', pod_uid, 'handed_over_at', now)
    call('ZREM', K.lease, lease_of(id, m))
    call('ZADD', K.pod_lease, lease_now + setting('pod_lease_ttl_ms'), lease_of(id, m))
    journal('hand_over', id, m, 'state', m.state, 'pod', pod, 'pod_uid', pod_uid)
    return {'OK', m.state, m.cancel and 0 or 1}
end)
