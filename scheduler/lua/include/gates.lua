-- Gates: those of an execution, whether a gate has room, and the index `open:{lane}` of gates that have room and
-- waiting executions of the lane, by their best waiter's score. A change of a gate or of its best waiter re-indexes it.
local touched -- lanes whose best candidate may have changed; include/lanes.lua settles them
local offered -- lane → the best score of the executions that entered it in this call
local freed -- lanes of which an execution gave its slot back
local due_soon -- lanes with an execution that is due sooner than an idle consumer asks again
local open_heads -- lane → its best open gate and that gate's score, once read

at_begin(function()
    touched, offered, freed = emptied(touched), emptied(offered), emptied(freed)
    due_soon = emptied(due_soon)
end)
at_begin_and_failure(function() open_heads = emptied(open_heads) end)

-- An execution's gates never change while it lives.
local function gates_of(m)
    if m.all_gates then return m.all_gates end
    local gates = {'action:' .. m.action}
    m.all_gates = gates
    if m.user then gates[2] = 'user:' .. m.user end
    if m.gates then
        for gate in string.gmatch(m.gates, '[^\n]+') do gates[#gates + 1] = gate end
    end
    return gates
end

local function has_room(gate)
    read_limits({gate})
    if is_paused(gate) then return false end
    return not limits[gate] or call('SCARD', D.held(gate)) < limits[gate]
end

-- Returns the first of these gates that has no room; else nil, and how many more each limited gate lets through.
local function closed_gate(gates)
    local left = {}
    read_limits(gates)
    for _, gate in ipairs(gates) do
        if is_paused(gate) then return gate end
        if limits[gate] then
            left[gate] = limits[gate] - call('SCARD', D.held(gate))
            if left[gate] < 1 then return gate end
        end
    end
    return nil, left
end

-- `room`: whether the gate has room, if the caller knows.
local function reindex(gate, room)
    local lanes = call('SMEMBERS', D.gate_lanes(gate))
    if #lanes == 0 then return end
    if room == nil then room = has_room(gate) end
    for _, lane in ipairs(lanes) do
        local best = call('ZRANGE', D.waiting(gate, lane), 0, 0, 'WITHSCORES')
        if #best == 0 then call('SREM', D.gate_lanes(gate), lane) end
        if room and best[1] then
            call('ZADD', D.open(lane), best[2], gate)
        else
            call('ZREM', D.open(lane), gate)
        end
        index_closed(gate, lane, not room and best[2] or nil)
        touched[lane], open_heads[lane] = true, nil
    end
end

local function hold(id, gates)
    for _, gate in ipairs(gates) do call('SADD', D.held(gate), id) end
end

-- `left`: as closed_gate returned it; `behind`: the gate behind which the new holder was the best waiter, if any. The
-- index changes only if a gate closes or loses its best waiter.
local function index_held(gates, left, behind)
    for _, gate in ipairs(gates) do
        local room = not left[gate] or left[gate] > 1
        if not room or gate == behind then reindex(gate, room) end
    end
end

-- A full gate opens when a holder leaves it. A gate limited by its kind is also re-indexed if it had room before: the
-- kind's limit may have risen.
local function unhold(id, gates)
    read_limits(gates)
    for _, gate in ipairs(gates) do
        if call('SREM', D.held(gate), id) == 1 and limits[gate] then
            local room = limits[gate] - call('SCARD', D.held(gate))
            if room == 1 or (room > 1 and by_kind[gate]) then reindex(gate) end
        end
    end
end
