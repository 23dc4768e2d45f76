-- Flows: the executions of a lane that pass the same gates, `flow:{lane}:{gates}`, by score. All of a flow are eligible or
-- none is, so admission moves flows and not executions. A flow stands behind a gate by its best score, and among the ready
-- ones by that or a lower one: a grant would have to write it each time, and mostly the same flow goes next.
local flow_of, first_of, best_ready, enter_flow, leave_flow, move_behind
do
    local heads -- lane → flow → the executions read from its begin, ids and scores in turn; `next`, `is_all`
    local ready_heads -- lane → its first two ready flows with their scores, once read
    at_begin_and_failure(function() heads, ready_heads = emptied(heads), emptied(ready_heads) end)

    function flow_of(m)
        m.flow = m.flow or table.concat(gates_of(m), '\n')
        return m.flow
    end

    -- Returns the flow's first execution and its score; nil if it is empty. `wanted`: how many the caller will take. One
    -- more than that is read, which is the first one then.
    function first_of(lane, flow, wanted)
        local of_lane = heads[lane] or {}
        local head = of_lane[flow]
        if not head or (not head[head.next] and not head.is_all) then
            local last = wanted or 1
            head = call('ZRANGE', D.flow(lane, flow), 0, last, 'WITHSCORES')
            head.next, head.is_all = 1, #head < 2 * (last + 1)
            heads[lane], of_lane[flow] = of_lane, head
        end
        return head[head.next], head[head.next + 1]
    end

    -- Returns the lane's best ready flow and its score. If too much was moved already, the score may be lower than it is.
    function best_ready(lane, wanted)
        while true do
            local head = ready_heads[lane] or call('ZRANGE', D.ready(lane), 0, 1, 'WITHSCORES')
            ready_heads[lane] = head
            local flow, second = head[1], head[4]
            if not flow then return end
            local _, score = first_of(lane, flow, wanted)
            local stays = score and (not second or tonumber(score) <= tonumber(second))
            if stays then return flow, score end
            if moves >= MAX_MOVES then return flow, head[2] end
            moves, ready_heads[lane] = moves + 1, nil
            if score then call('ZADD', D.ready(lane), score, flow) else call('ZREM', D.ready(lane), flow) end
        end
    end

    -- Adds an execution, or moves it to another score. Returns the gate behind which the flow stands, if it does and its
    -- best score has changed: the caller has to reindex it.
    function enter_flow(id, m)
        local lane, flow = m.lane, flow_of(m)
        call('ZADD', D.flow(lane, flow), m.score, id)
        if heads[lane] then heads[lane][flow] = nil end
        local gate = places.gate_before(lane, flow)
        if gate then
            local _, score = first_of(lane, flow)
            return call('ZADD', D.waiting(gate, lane), 'CH', score, flow) == 1 and gate or nil
        end
        if call('ZADD', D.ready(lane), 'LT', 'CH', m.score, flow) == 1 then ready_heads[lane] = nil end
    end

    -- Returns as enter_flow does.
    function leave_flow(id, lane, flow)
        call('ZREM', D.flow(lane, flow), id)
        local head = heads[lane] and heads[lane][flow]
        if head and head[head.next] == id then head.next = head.next + 2 elseif head then heads[lane][flow] = nil end
        local _, score = first_of(lane, flow)
        local gate = places.gate_before(lane, flow)
        if gate and score then return call('ZADD', D.waiting(gate, lane), 'CH', score, flow) == 1 and gate or nil end
        if score then return end
        call('ZREM', gate and D.waiting(gate, lane) or D.ready(lane), flow)
        if gate then places.keep(lane, flow) else ready_heads[lane] = nil end
        return gate or nil
    end

    -- Moves a flow, at its best score, behind a gate that it found closed.
    function move_behind(lane, flow, score, gate)
        local before = places.gate_before(lane, flow)
        call('ZREM', before and D.waiting(before, lane) or D.ready(lane), flow)
        if before then index_in(lane, before) else ready_heads[lane] = nil end
        call('ZADD', D.waiting(gate, lane), score, flow)
        places.keep(lane, flow, gate)
        index_in(lane, gate, false)
    end
end
