-- Gates: which an execution passes, whether one has room, and the index `open:{lane}` of gates that have room and
-- someone of the lane waiting, by their best waiter's score. Whatever changes a gate or its best waiter re-indexes it.
local any_paused = redis.call('EXISTS', K.paused) == 1
local touched = {} -- lanes whose best candidate may have changed; include/lanes.lua settles them

local function is_paused(name)
    return any_paused and redis.call('HEXISTS', K.paused, name) == 1
end

local function gates_of(m)
    local gates = {'action:' .. m.action}
    if m.user then gates[2] = 'user:' .. m.user end
    if m.gates then
        for gate in string.gmatch(m.gates, '%S+') do gates[#gates + 1] = gate end
    end
    return gates
end

local function has_room(gate, limit)
    if is_paused(gate) then return false end
    return not limit or redis.call('SCARD', D.held(gate)) < tonumber(limit)
end

-- The first of these gates that has no room, or nil.
local function closed_gate(gates)
    local limits = redis.call('HMGET', K.limits, unpack(gates))
    for i, gate in ipairs(gates) do
        if not has_room(gate, limits[i]) then return gate end
    end
end

local function reindex(gate)
    local lanes = redis.call('SMEMBERS', D.gate_lanes(gate))
    if #lanes == 0 then return end
    local room = has_room(gate, redis.call('HGET', K.limits, gate))
    for _, lane in ipairs(lanes) do
        local best = redis.call('ZRANGE', D.waiting(gate, lane), 0, 0, 'WITHSCORES')
        if #best == 0 then redis.call('SREM', D.gate_lanes(gate), lane) end
        if room and best[1] then
            redis.call('ZADD', D.open(lane), best[2], gate)
        else
            redis.call('ZREM', D.open(lane), gate)
        end
        touched[lane] = true
    end
end

local function hold(id, gates)
    for _, gate in ipairs(gates) do
        redis.call('SADD', D.held(gate), id)
        reindex(gate)
    end
end

local function unhold(id, gates)
    for _, gate in ipairs(gates) do
        redis.call('SREM', D.held(gate), id)
        reindex(gate)
    end
end
