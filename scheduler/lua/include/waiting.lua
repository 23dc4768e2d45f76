-- Enters and removes waiting executions: in the pending set, their flow, the action's queue, the user's count, and the
-- indexes of deadlines and ageing.
local function count_user(m, change)
    if not m.user then return end
    local users = D.users(m.lane)
    if call('HINCRBY', users, m.user, change) <= 0 then call('HDEL', users, m.user) end
end

-- Further fields of an execution are given last, here and below, so that one write is enough for all.
-- Whoever sleeps until the next one is due is woken by one that is due before it. Who begins to sleep has asked before,
-- so a token that nobody takes at once is for nobody.
local enter_scheduled
do
    local DUE_TOKEN_MS = 1000

    -- The execution is scheduled behind those that are due in the same millisecond.
    function enter_scheduled(id, m, due, ...)
        call('ZADD', K.scheduled, exact(place_after(due)), id)
        if call('ZRANK', K.scheduled, id) == 0 and call('LLEN', K.due) == 0 then
            call('RPUSH', K.due, '1')
            call('PEXPIRE', K.due, DUE_TOKEN_MS)
        end
        call('HSET', D.meta(id), 'state', 'SCHEDULED', 'due', due, ...)
        m.state = 'SCHEDULED'
    end
end

-- A new one waits since it was accepted; others are given `waiting_since`.
local function enter_pending(id, m, ...)
    local kind = fair.kind(m.lane)
    if kind and not m.is_placed then fair.place_again(id, m) end
    local score = tonumber(m.score)
    call('ZADD', D.pending(m.lane), m.score, id)
    local behind = enter_flow(id, m)
    call('ZADD', D.action_pending(m.action), kind and m.time or exact(score - m.band * BAND_WIDTH_MS), id)
    if kind then
        call('ZADD', D.times(m.lane), m.time, id)
        call('HSET', D.meta(id), 'state', 'PENDING', 'score', m.score, 'time', m.time, ...)
    else
        call('HSET', D.meta(id), 'state', 'PENDING', 'score', m.score, ...)
    end
    local allowed = bound_of(m.lane, 'stale_timeout_seconds')
    deadline.enter(id, m, allowed and allowed * 1000)
    ageing.enter(id, m, now)
    m.state = 'PENDING'
    if behind then
        index_in(m.lane, behind)
    elseif m.follows_own and not any_behind then
        changed.freed[m.lane] = true -- the best candidate stays, and only wants to be taken
    elseif kind and not m.is_alone then
        changed.touched[m.lane] = true
    elseif not places.gate_before(m.lane, m.flow) then
        local claim = kind and m.band * BAND_WIDTH_MS + m.time or score
        changed.offered[m.lane] = math.min(claim, changed.offered[m.lane] or math.huge)
    end
end

-- Returns the gate that the caller has to reindex, if there is one.
local function leave_pending(id, m, is_granted)
    call('ZREM', D.pending(m.lane), id)
    if fair.kind(m.lane) then
        call('ZREM', D.times(m.lane), id)
        fair.leave(m, is_granted)
    end
    call('ZREM', D.action_pending(m.action), id)
    deadline.leave(id, m)
    ageing.leave(id, m.lane)
    changed.touched[m.lane] = true
    return leave_flow(id, m.lane, flow_of(m))
end

local function leave_waiting(id, m)
    if m.state == 'SCHEDULED' then
        call('ZREM', K.scheduled, id)
        changed.touched[m.lane] = true -- so that index_lane drops a token that was pushed because this was due soon
        changed.note_soon(m.lane, id, false)
    else
        local behind = leave_pending(id, m)
        if behind then index_in(m.lane, behind) end
    end
    count_user(m, -1)
end
