-- hand_over: the grant passes from the worker's thread to a pod that was created (RUNNING to POD); the slot is kept.
-- Atomic: from here the body's end settles nothing, the pod's end does. A cancellation asked for meanwhile makes it
-- CANCELLING at once, so that the creator deletes the pod (D10).
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, attempt, pod, pod_uid
--   caller number   the request token
-- Returns: {code, state}; code OK | STALE | UNKNOWN | ENDED | NOT_HELD; state POD or CANCELLING after OK
once('hand_over', function(id, attempt, pod, pod_uid)
    local m = load(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    if attempt ~= m.attempt then return {'STALE', m.state} end
    if m.state ~= 'RUNNING' then return {m.pod_uid == pod_uid and 'OK' or 'NOT_HELD', m.state} end

    m.state = m.cancel and 'CANCELLING' or 'POD'
    call('HSET', D.meta(id), 'state', m.state, 'pod', pod, 'pod_uid', pod_uid, 'handed_over_at', now)
    call('ZREM', K.lease, id)
    call('ZADD', K.pod_lease, now + setting('pod_lease_ttl_ms'), id)
    refresh_payload(id)
    journal('hand_over', id, m, 'state', m.state, 'pod', pod)
    return {'OK', m.state}
end)
