-- Expires executions that have waited too long, by the index of deadlines, earliest first; and re-indexes lanes whose
-- timeout or ageing was changed, or that became fair. An entry is only a candidate: if a pause put its deadline off, it
-- is entered again.

function deadline.enter_again(id, m)
    call('ZREM', K.deadlines, id)
    ageing.leave(id, m and m.lane)
    if not m or m.state ~= 'PENDING' then return end
    deadline.enter(id, m, deadline.wait_left(m))
    ageing.enter(id, m, deadline.since(m))
    if fair.kind(m.lane) then call('ZADD', D.times(m.lane), m.time or exact(m.score - m.band * BAND_WIDTH_MS), id) end
end

local sweep_due
do
    local function sweep_one(id)
        local m = load(id)
        local why = m and m.state == 'PENDING' and deadline.why_stale(m)
        if why then expire(id, m, why) else deadline.enter_again(id, m) end
        return why and 1 or 0
    end

    -- Returns how many executions expired, and whether there may be more.
    function sweep_due(bound)
        local due, expired = call('ZRANGEBYSCORE', K.deadlines, '-inf', '(' .. now, 'LIMIT', 0, bound), 0
        for _, id in ipairs(due) do
            if moves >= MAX_MOVES then return expired, true end
            expired = expired + (apart(sweep_one, id) or 0)
        end
        return expired, #due == bound
    end
end

-- Re-indexes up to `left` executions of a lane; a later call does the rest. Returns how many this call may still do; a
-- lane without waiting executions counts as one.
function deadline.reindex_lane(lane, left)
    local field = deadline.reindexing_field(lane)
    local page = call('ZRANGEBYSCORE', D.pending(lane), overrides[field], '+inf', 'WITHSCORES', 'LIMIT', 0, left)
    local done = 0
    while done < #page and moves < MAX_MOVES do
        deadline.enter_again(page[done + 1], load(page[done + 1]))
        done = done + 2
    end
    local is_all = done == #page and #page < 2 * left
    if is_all then keep_setting(field) elseif done > 0 then keep_setting(field, '(' .. page[done]) end
    return left - math.max(1, done / 2)
end

-- Re-indexes up to `bound` executions of all lanes that need it. Returns whether there may be more.
local function reindex_deadlines(bound)
    local left = bound
    for field in pairs(overrides) do
        local lane = field == 'deadlines_from' and OWN_LANE or string.match(field, '^lane:(.*):deadlines_from$')
        if lane and left > 0 then left = apart(deadline.reindex_lane, lane, left) or left end
    end
    return left < 1 or moves >= MAX_MOVES
end

local sweep_now_and_then
do
    local SWEPT_A_SECOND = 50
    local swept_at -- when a call of this queue last swept; nil once a new clock of leases was noted
    local swept_then
    at_begin(function()
        if not noted or noted ~= swept_then then swept_then, swept_at = noted, nil end
    end)

    -- Once a second, so that workers alone expire executions behind closed gates, or in a lane that nobody consumes, and
    -- drop dead letters whose time is over.
    function sweep_now_and_then()
        if swept_at and math.abs(now - swept_at) < NOTED_EACH_MS then return end
        swept_at = now
        reindex_deadlines(SWEPT_A_SECOND)
        sweep_due(SWEPT_A_SECOND)
        drop_expired()
        code_slots.end_lost()
    end
end
