-- Indexes a gate that opened or closed (openings.lua) in the lanes whose flows wait behind it, `gate:{gate}:lanes` by their
-- best flow. A gate is crowded, and in the set `crowded`, if there are very many. Then the best lanes in which
-- something could start now are told, and each other one when its consumer asks. A lane that was not told of a gate's
-- closing seems to have a candidate; whoever would leave room to it looks whether it has (admitting.lua).
local reindex
local crowded = {}
do
    local FEW, MANY, MOST = 20, 100, 1000 -- lanes: told at once, read each time, and read at most
    local GATES_A_CALL = 20
    local is_any
    at_begin(function() is_any = false end)

    -- Tells lanes, of those named in turn with their scores, best first, in which something could start; `asked`: when
    -- their consumers asked last. Returns how many of `most` are left.
    local function index_some(gate, lanes, asked, room, most)
        for i = 1, #lanes, 2 do
            local may = most > 0 and ranking.is_served(lanes[i], asked[(i + 1) / 2]) and room_of(lanes[i]) > 0
            if may then
                most = most - 1
                index_in(lanes[i], gate, room, lanes[i + 1])
            end
        end
        return most
    end

    local function index_best(gate, room, most)
        for from = 0, MOST - 1, MANY do
            local lanes, names = call('ZRANGE', D.gate_lanes(gate), from, from + MANY - 1, 'WITHSCORES'), {}
            for i = 1, #lanes, 2 do names[#names + 1] = 'lane:' .. lanes[i] end
            most = index_some(gate, lanes, names[1] and call('HMGET', K.rounds, unpack(names)) or {}, room, most)
            if most == 0 or #names < MANY then return end
        end
    end

    local function index_lanes(gate, room, most)
        local lanes = call('ZRANGE', D.gate_lanes(gate), 0, FEW, 'WITHSCORES')
        if not lanes[1] then return end
        if room == nil then room = has_room(gate) end
        if #lanes > 2 * FEW then
            call('SADD', K.crowded, gate)
            return index_best(gate, room, most)
        end
        for i = 1, #lanes, 2 do index_in(lanes[i], gate, room, lanes[i + 1]) end
    end

    -- `room`: whether the gate has room, if the caller knows.
    function reindex(gate, room) index_lanes(gate, room, FEW) end

    -- For an operator's change: as many as a raised limit lets through are woken.
    function crowded.reindex(gate) index_lanes(gate, nil, MANY) end

    -- Returns whether a gate may be crowded that lanes of this call wait behind.
    function crowded.any() return is_any end

    -- Tells lanes, whose consumer asks, whether crowded gates have room: of some gates, and the best lanes of each.
    function crowded.tell(lanes)
        local gates = any_behind and lanes[1] and call('SRANDMEMBER', K.crowded, GATES_A_CALL) or {}
        is_any = gates[1] ~= nil
        for _, gate in ipairs(gates) do
            local found, flat, asked = {}, {}, {}
            for i, score in ipairs(call('ZMSCORE', D.gate_lanes(gate), unpack(lanes))) do
                if score then found[#found + 1] = {lanes[i], score} end
            end
            table.sort(found, function(one, other) return tonumber(one[2]) < tonumber(other[2]) end)
            for i, each in ipairs(found) do flat[2 * i - 1], flat[2 * i], asked[i] = each[1], each[2], now end
            index_some(gate, flat, asked, nil, FEW)
            if call('ZCARD', D.gate_lanes(gate)) <= FEW then
                reindex(gate)
                call('SREM', K.crowded, gate)
            end
        end
    end
end
