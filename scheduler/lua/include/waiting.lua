-- Enters and removes waiting executions: in the pending set, the lane's ready set or the set of the gate it waits
-- behind, the action's queue, the user's count, and the index of deadlines.
local function count_user(m, change)
    if not m.user then return end
    local users = D.users(m.lane)
    if call('HINCRBY', users, m.user, change) <= 0 then call('HDEL', users, m.user) end
end

-- Further fields of an execution are given last, here and below, so that one write is enough for all.
-- The execution is scheduled behind those that are due in the same millisecond.
local function enter_scheduled(id, m, due, ...)
    call('ZADD', K.scheduled, exact(place_after(due)), id)
    call('HSET', D.meta(id), 'state', 'SCHEDULED', 'due', due, ...)
    m.state = 'SCHEDULED'
end

local function enter_pending(id, m, ...)
    local score = tonumber(m.score)
    call('ZADD', D.pending(m.lane), m.score, id)
    add_ready(m.lane, m.score, id)
    call('ZADD', D.action_pending(m.action), exact(score - m.band * BAND_WIDTH_MS), id)
    call('HSET', D.meta(id), 'state', 'PENDING', 'score', m.score, 'waiting_since', now, ...)
    local allowed = bound_of(m.lane, 'stale_timeout_seconds')
    enter_deadline(id, m, allowed and allowed * 1000)
    m.state, offered[m.lane] = 'PENDING', math.min(score, offered[m.lane] or math.huge)
end

-- Returns the gate behind which it waited, if it did; the caller has to reindex it.
local function leave_pending(id, m)
    local behind = m.behind
    call('ZREM', D.pending(m.lane), id)
    call('ZREM', D.action_pending(m.action), id)
    leave_deadline(id, m)
    if behind then
        call('ZREM', D.waiting(behind, m.lane), id)
        call('HDEL', D.meta(id), 'behind')
        m.behind = nil
    else
        remove_ready(m.lane, id)
    end
    touched[m.lane] = true
    return behind
end

local function leave_waiting(id, m)
    if m.state == 'SCHEDULED' then
        call('ZREM', K.scheduled, id)
        touched[m.lane] = true -- so that index_lane drops a token that was pushed because this was due soon
    else
        local behind = leave_pending(id, m)
        if behind then reindex(behind) end
    end
    count_user(m, -1)
end

-- Moves an execution behind a gate that it found closed, at its original score.
local function move_behind(id, m, gate)
    if m.behind then
        call('ZREM', D.waiting(m.behind, m.lane), id)
        reindex(m.behind)
    else
        remove_ready(m.lane, id)
    end
    call('ZADD', D.waiting(gate, m.lane), m.score, id)
    call('SADD', D.gate_lanes(gate), m.lane)
    call('HSET', D.meta(id), 'behind', gate)
    reindex(gate)
end
