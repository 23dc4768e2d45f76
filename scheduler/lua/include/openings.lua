-- The index `open:{lane}`: gates that have room and waiting flows of the lane, by their best flow's score. A change of a
-- gate or of its best flow re-indexes it.
local best_open, index_in
do
    local heads -- lane → its best open gate, that gate's score and best flow, as far as they were read
    at_begin_and_failure(function() heads = emptied(heads) end)

    -- Returns the lane's best open gate, its score and its best flow; nothing if it has none.
    function best_open(lane)
        local head = heads[lane] or call('ZRANGE', D.open(lane), 0, 0, 'WITHSCORES')
        heads[lane] = head
        if head[1] and not head[3] then head[3] = call('ZRANGE', D.waiting(head[1], lane), 0, 0)[1] end
        return head[1], head[2], head[3]
    end

    -- The gate is open with this best flow, or, without one, not open. What was read stays as long as that changes nothing.
    local function note_open(lane, gate, flow, score)
        local head = heads[lane]
        if not head then return end
        if head[1] == gate then
            heads[lane] = nil
        elseif flow and (not head[1] or tonumber(score) < tonumber(head[2])) then
            heads[lane] = {gate, score, flow}
        end
    end

    -- Of one lane. `known`: the best flow's score, if it stands in the gate's lanes already; `room`: whether the gate has
    -- some, if the caller knows.
    function index_in(lane, gate, room, known)
        local best = call('ZRANGE', D.waiting(gate, lane), 0, 0, 'WITHSCORES')
        if not best[1] then
            call('ZREM', D.gate_lanes(gate), lane)
        elseif best[2] ~= known then
            call('ZADD', D.gate_lanes(gate), best[2], lane)
        end
        if room == nil then room = has_room(gate) end
        if room and best[1] then
            call('ZADD', D.open(lane), best[2], gate)
            note_open(lane, gate, best[1], best[2])
        else
            call('ZREM', D.open(lane), gate)
            note_open(lane, gate)
        end
        index_closed(gate, lane, not room and best[2] or nil)
        later.note(lane, gate, not room and best[1])
        changed.touched[lane] = true
    end
end
