-- The end of an execution: the slot and its gates are given back, the terminal state is written once, and the payload
-- is deleted unless it is kept (`keeping`, `outbox`). A record stays for a while, to recognise late duplicates.
local function leave_slot(id, m)
    give_slot(id, m.lane)
    call('ZREM', m.state == 'RUNNING' and K.lease or K.pod_lease, lease_of(id, m))
    leases_held = nil
    reopening.unhold(id, gates_of(m))
end

local function keep_result(id, result)
    if result ~= '' then call('SET', D.result(id), result, 'EX', setting('result_ttl_seconds')) end
end

-- `unseen`: the execution ends without a body, so only the outbox can report the end to its sender.
local function finish(id, m, verb, state, reason, dead, unseen)
    if dead or unseen or m.lane == OWN_LANE then
        call('HSET', D.meta(id), 'state', state, 'reason', reason, 'ended_at', now)
    end
    call('SREM', D.members(m.lane), id)
    unique.release(id, m)
    code_slots.leave(id, m.lane, verb, state, reason)
    count_action(m.action, 'total_completed')
    if dead then
        untold.remove(id, m.lane)
        keep_dead(id)
    end
    local is_posted = unseen and untold.post(id, m.lane)
    if dead then drop_excess(K.dead) end
    if not dead and not is_posted then leave_record(id, m, state) end
    m.state, changed.freed[m.lane] = state, true
    journal(verb, id, m, 'state', state, 'reason', reason, 'dead', dead and 1 or 0, asked(m.before))
end

local function expire(id, m, reason)
    leave_waiting(id, m)
    finish(id, m, 'expire', 'EXPIRED', reason, false, true)
end

-- Gives the grant up. The execution waits again at its original score, at the end of its band or, after a delay, at the
-- score of its due time.
local function wait_again(id, m, verb, delay_ms, reason, at_end)
    leave_slot(id, m)
    call('HDEL', D.meta(id), 'pod', 'pod_uid')
    count_user(m, 1)
    if delay_ms > 0 then
        enter_scheduled(id, m, now + delay_ms)
        if delay_ms < 1000 then changed.note_soon(m.lane, id, true) end
    else
        m.expires_at = field(id, 'expires_at')
        if at_end then fair.place(m, next_time(now)) end
        enter_pending(id, m, 'waiting_since', now)
        changed.touched[m.lane] = true -- so that the next admission looks at it
    end
    journal(verb, id, m, 'state', m.state, 'reason', reason, 'delay_ms', delay_ms, 'score', m.score)
end
