-- Entering and leaving the pending set with all that goes with it: the lane's ready set or the gate it waits
-- behind, the action's queue, the user's count, and the clock of its staleness, which stands still while paused.
local function count_user(m, change)
    if m.user and call('HINCRBY', K.users, m.user, change) <= 0 then call('HDEL', K.users, m.user) end
end

-- Milliseconds that this execution's gates, its lane and the whole queue have been paused so far, added up.
local function paused_total(m)
    if not any_paused then return 0 end
    local total, names = 0, gates_of(m)
    names[#names + 1], names[#names + 2] = '*', 'lane:' .. m.lane
    for _, name in ipairs(names) do
        local stamps = call('HMGET', K.paused, name, name .. '\ntotal')
        if stamps[1] then total = total + math.max(0, now - tonumber(stamps[1])) end
        total = total + tonumber(stamps[2] or 0)
    end
    return total
end

local function is_stale(m)
    local waited = now - tonumber(m.waiting_since)
    if waited <= setting('stale_timeout_seconds') * 1000 then return false end
    return waited - (paused_total(m) - tonumber(m.paused_before or 0)) > setting('stale_timeout_seconds') * 1000
end

-- What else is to be noted of an execution is given last, here and below: one write for all.
-- Not before `due`. Those due in the same millisecond keep the order in which they came, up to 1024 of them.
local function enter_scheduled(id, m, due, ...)
    local last = call('ZREVRANGEBYSCORE', K.scheduled, '(' .. exact(due + 1), exact(due), 'WITHSCORES', 'LIMIT', 0, 1)
    local score = last[2] and math.min(tonumber(last[2]) + 1 / 1024, due + 1023 / 1024) or due
    call('ZADD', K.scheduled, exact(score), id)
    call('HSET', D.meta(id), 'state', 'SCHEDULED', 'due', due, ...)
    m.state = 'SCHEDULED'
end

local function enter_pending(id, m, ...)
    call('ZADD', K.pending, m.score, id)
    add_ready(m.lane, m.score, id)
    call('ZADD', D.action_pending(m.action), exact(tonumber(m.score) - m.band * BAND_WIDTH_MS), id)
    call('HSET', D.meta(id), 'state', 'PENDING', 'score', m.score, 'waiting_since', now, ...)
    if any_paused then call('HSET', D.meta(id), 'paused_before', paused_total(m)) end
    m.state, offered[m.lane] = 'PENDING', math.min(tonumber(m.score), offered[m.lane] or math.huge)
end

-- Returns the gate behind which it waited, if it did, which is to be indexed anew.
local function leave_pending(id, m)
    local behind = m.behind
    call('ZREM', K.pending, id)
    call('ZREM', D.action_pending(m.action), id)
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
    else
        local behind = leave_pending(id, m)
        if behind then reindex(behind) end
    end
    count_user(m, -1)
end

-- Behind a gate that it found closed, at its original score.
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
