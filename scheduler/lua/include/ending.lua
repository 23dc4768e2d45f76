-- The end of an execution: the slot and its gates are given back, the terminal state is written once, the payload is
-- deleted unless it is kept (`keeping`, `outbox`), and so much stays for a while that a late duplicate is recognised.
local function leave_slot(id, m)
    give_slot(id, m.lane)
    call('ZREM', m.state == 'RUNNING' and K.lease or K.pod_lease, lease_of(id, m))
    leases_held = nil
    unhold(id, gates_of(m))
end

local function keep_result(id, result)
    if result ~= '' then call('SET', D.result(id), result, 'EX', setting('result_ttl_seconds')) end
end

-- `unseen`: no body is there to end with it, so that nobody else would tell whoever sent it.
local function finish(id, m, verb, state, reason, dead, unseen)
    if dead or unseen or m.lane == OWN_LANE then
        call('HSET', D.meta(id), 'state', state, 'reason', reason, 'ended_at', now)
    end
    call('SREM', D.members(m.lane), id)
    count_action(m.action, 'total_completed')
    if dead then
        unpost(id, m.lane)
        keep_dead(id)
    end
    local is_posted = unseen and post(id, m.lane)
    if dead then drop_excess(K.dead) end
    if not dead and not is_posted then leave_record(id, m, state) end
    m.state, freed[m.lane] = state, true
    journal(verb, id, m, 'state', state, 'reason', reason, 'dead', dead and 1 or 0, asked())
end

local function expire(id, m, reason)
    leave_waiting(id, m)
    finish(id, m, 'expire', 'EXPIRED', reason, false, true)
end

-- Back to waiting with the grant given up: at its original score, at the end of its band, or, after a delay, where what is
-- accepted when it is due stands.
local function wait_again(id, m, verb, delay_ms, reason, at_end)
    leave_slot(id, m)
    call('HDEL', D.meta(id), 'pod', 'pod_uid')
    count_user(m, 1)
    if delay_ms > 0 then
        enter_scheduled(id, m, now + delay_ms)
        if delay_ms < 1000 then due_soon[m.lane] = true end
    else
        m.expires_at = field(id, 'expires_at')
        if at_end then m.score = exact(m.band * BAND_WIDTH_MS + next_time(now)) end
        enter_pending(id, m)
        touched[m.lane] = true -- what is admitted next looks at it
    end
    journal(verb, id, m, 'state', m.state, 'reason', reason, 'delay_ms', delay_ms, 'score', m.score)
end
