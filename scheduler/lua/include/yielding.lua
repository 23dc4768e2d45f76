-- Which executions go before a slot that code waits for: those of live lanes that wait for the same gate, of a better band
-- or accepted before.
local yields
do
    local LOOKED_AT = 20 -- executions of the action that were accepted before

    local function may_start(lane)
        return ranking.is_served(lane, call('HGET', K.rounds, 'lane:' .. lane)) and room_of(lane) > 0
    end

    -- Whether nothing but this gate is known to hold the execution back.
    local function is_up(m, gate)
        local behind = places.gate_before(m.lane, flow_of(m))
        return not behind or behind == gate
    end

    -- Counts the executions of a lane that wait behind a gate, up to a score.
    local function count_waiting(gate, lane, score)
        local count, flows = 0, call('ZRANGEBYSCORE', D.waiting(gate, lane), '-inf', score, 'LIMIT', 0, LOOKED_AT)
        for _, flow in ipairs(flows) do count = count + call('ZCOUNT', D.flow(lane, flow), '-inf', score) end
        return count
    end

    -- Returns whether executions of other lanes go before, as many as the gate has room for.
    function yields(id, m)
        local gate = 'action:' .. m.action
        local _, left = closed_gate({gate})
        local room = left and left[gate]
        if not room then return false end
        local first, before, may = {}, 0, {}
        local rank = call('ZRANK', D.action_pending(m.action), id) or 0
        if rank > 0 then first = call('ZRANGE', D.action_pending(m.action), 0, math.min(rank, LOOKED_AT) - 1) end
        for _, each in ipairs(first) do
            local other = load_candidate(each) or {}
            local lane = other.lane
            local is_first = lane and lane ~= m.lane and other.band <= m.band and is_up(other, gate)
            if is_first and may[lane] == nil then may[lane] = may_start(lane) or false end
            if is_first and may[lane] then before = before + 1 end
        end
        -- Those of a better band were perhaps accepted later.
        local better = '(' .. exact(tonumber(m.score) - BAND_WIDTH_MS / 2)
        for _, lane in ipairs(call('ZRANGE', D.gate_lanes(gate), '-inf', better, 'BYSCORE', 'LIMIT', 0, LOOKED_AT)) do
            local count = lane ~= m.lane and count_waiting(gate, lane, better) or 0
            if count > 0 and may_start(lane) then before = before + count end
        end
        return before >= room
    end
end
