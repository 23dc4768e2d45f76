-- The gates that their rate keeps closed to waiting flows of a lane, `later:{lane}`, by the millisecond at which they open;
-- and `later`, the lanes by their first one. Every admission looks at those that are due, so they open in time as long as
-- anybody asks: a worker that waits is told how long it may, and one that may wait too long is woken, to be told.
local later = {}
do
    local AGAIN_MS = 1000 -- an idle worker asks again after so long
    local changed_lanes
    at_begin(function() changed_lanes = emptied(changed_lanes) end)

    -- `is_closed`: to flows that wait there.
    function later.note(lane, gate, is_closed)
        if not rates.exist() then return end
        local wait_ms = is_closed and rates.wait_ms(gate) or 0
        if wait_ms > 0 then
            rates.keep(gate)
            call('ZADD', D.later(lane), now + wait_ms, gate)
            if wait_ms < AGAIN_MS then changed.note_soon(lane, gate, true) end
        elseif call('ZREM', D.later(lane), gate) == 0 then
            return
        end
        changed_lanes[lane] = true
    end

    -- Returns pairs of lane and gate that may open now, at most so many; they are taken out.
    function later.take_due(most)
        local due = {}
        if not rates.exist() then return due end
        local until_ms = went_back and '+inf' or now -- none opens as late as it says, then
        for _, lane in ipairs(call('ZRANGEBYSCORE', K.later, '-inf', until_ms, 'LIMIT', 0, most)) do
            changed_lanes[lane] = true
            local gates = call('ZRANGEBYSCORE', D.later(lane), '-inf', until_ms, 'LIMIT', 0, most - #due)
            for _, gate in ipairs(gates) do due[#due + 1] = {lane, gate} end
            if gates[1] then call('ZREM', D.later(lane), unpack(gates)) end
        end
        return due
    end

    function later.keep()
        for lane in pairs(changed_lanes) do
            local first = call('ZRANGE', D.later(lane), 0, 0, 'WITHSCORES')
            if first[1] then call('ZADD', K.later, first[2], lane) else call('ZREM', K.later, lane) end
        end
        if next(changed_lanes) then rates.mark() end
        changed_lanes = emptied(changed_lanes)
    end

    -- Returns in how many ms the next gate opens to one of these lanes.
    function later.wait_ms(lanes)
        local at = math.huge
        later.keep()
        if not rates.exist() or not lanes[1] then return at end
        for _, each in ipairs(call('ZMSCORE', K.later, unpack(lanes))) do
            if each then at = math.min(at, tonumber(each)) end
        end
        return math.max(0, at - now)
    end
end
