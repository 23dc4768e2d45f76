-- The end of an execution: the slot and its gates are given back, the terminal state is written once, the payload is
-- deleted unless it is dead-lettered, and meta stays for a while so that a late duplicate is recognised.
local function leave_slot(id, m)
    slots_taken = (slots_taken or call('SCARD', K.active)) - call('SREM', K.active, id)
    call('ZREM', m.state == 'RUNNING' and K.lease or K.pod_lease, id)
    unhold(id, gates_of(m))
end

local function keep_result(id, result)
    if result ~= '' then call('SET', D.result(id), result, 'EX', setting('result_ttl_seconds')) end
end

local function finish(id, m, verb, state, reason, dead)
    call('HSET', D.meta(id), 'state', state, 'reason', reason, 'ended_at', now)
    call('SREM', D.members(m.lane), id)
    call('HINCRBY', D.action_stats(m.action), 'total_completed', 1)
    if dead then
        call('ZADD', K.dead, now, id)
        call('PERSIST', D.event(id))
        call('PERSIST', D.message(id))
    else
        call('DEL', D.event(id), D.message(id))
        call('EXPIRE', D.meta(id), setting('meta_ttl_seconds'))
    end
    m.state, freed[m.lane] = state, true
    journal(verb, id, m, 'state', state, 'reason', reason, 'dead', dead and 1 or 0)
end

local function expire(id, m)
    leave_waiting(id, m)
    finish(id, m, 'expire', 'EXPIRED', 'stale', false)
end

-- Back to waiting with the grant given up: at its original score, or when it is due again after a delay.
local function wait_again(id, m, verb, delay_ms, reason)
    leave_slot(id, m)
    call('HDEL', D.meta(id), 'pod', 'pod_uid')
    count_user(m, 1)
    if delay_ms > 0 then
        enter_scheduled(id, m, now + delay_ms)
        if delay_ms < 1000 then due_soon[m.lane] = true end
    else
        enter_pending(id, m)
        touched[m.lane] = true -- what is admitted next looks at it
    end
    refresh_payload(id)
    journal(verb, id, m, 'state', m.state, 'reason', reason, 'delay_ms', delay_ms)
end
