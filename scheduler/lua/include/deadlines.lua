-- The index `deadlines`: PENDING executions whose lane has a stale timeout, or that have a maximum age (`expires_at`),
-- by the last millisecond in which they may start, as far as known: a pause since then puts it off, and the sweep
-- enters them anew. Of a lane without a stale timeout, only executions with a maximum age are here. After a lane's
-- timeout was changed, sweeps re-index its waiting executions page by page, from the score that stands in the settings;
-- until that is done, nothing relies on the lane's entries.

local deadline = {}
do
    -- Returns for how many milliseconds since a time any of the execution's gates, its lane or the whole queue was paused.
    local function paused_ms(m, since)
        local PAUSES_A_MOVE = 50 -- looking at this many costs as much as a move, so that a call with very many ends earlier
        local names, spans, total = {'*', 'lane:' .. m.lane, unpack(gates_of(m))}, {}, 0
        local began = any_paused and call('HMGET', K.paused, unpack(names)) or {}
        for i, name in ipairs(names) do
            if began[i] then spans[#spans + 1] = {tonumber(began[i]), now} end
            local ended = call('ZRANGEBYSCORE', D.pauses(name), '(' .. since, '+inf', 'WITHSCORES')
            for j = 1, #ended, 2 do spans[#spans + 1] = {tonumber(ended[j]), math.min(tonumber(ended[j + 1]), now)} end
        end
        moves = moves + math.floor(#spans / PAUSES_A_MOVE)
        table.sort(spans, function(one, other) return one[1] < other[1] end)
        local counted_until = tonumber(since)
        for _, span in ipairs(spans) do
            total = total + math.max(0, span[2] - math.max(span[1], counted_until))
            counted_until = math.max(span[2], counted_until)
        end
        return total
    end

    -- Returns since when the execution has waited: since it was accepted, unless it came to wait later.
    function deadline.since(m) return m.waiting_since or m.accepted_at end

    -- Returns for how many ms the lane still lets the execution wait, without pauses: nil for any time.
    function deadline.wait_left(m)
        local allowed = bound_of(m.lane, 'stale_timeout_seconds')
        local left = allowed and allowed * 1000 - (now - tonumber(deadline.since(m)))
        if not left or left >= 0 then return left or nil end
        return left + paused_ms(m, deadline.since(m))
    end
end

-- Returns why the execution has waited too long; nil if it has not.
function deadline.why_stale(m)
    if m.expires_at and now > tonumber(m.expires_at) then return 'max_age' end
    local left = deadline.wait_left(m)
    return left and left < 0 and 'stale' or nil
end

function deadline.reindexing_field(lane)
    return field_of(lane, 'deadlines_from')
end

-- `left`: the ms that its lane's timeout leaves it; nil if the lane has no timeout.
function deadline.enter(id, m, left)
    local at = tonumber(m.expires_at)
    if left and (not at or now + left < at) then at = now + left end
    if at then call('ZADD', K.deadlines, at, id) end
end

function deadline.leave(id, m)
    if m.expires_at or bound_of(m.lane, 'stale_timeout_seconds') or overrides[deadline.reindexing_field(m.lane)] then
        call('ZREM', K.deadlines, id)
    end
end
