-- The lanes by their best candidate, and the wake tokens: one for each free slot, pushed to a lane that has a
-- candidate. A lane that has reached its own bound has no candidate, even if executions wait there: it is not in
-- `lanes`, gets no token and goes before no other lane, until one of its slots is given back or the bound is raised. A
-- lost token costs a second at most, since consumers wait no longer. A lane that failed in this call gets none, since
-- the consumer that took it would fail again at once.
local wake, wake_best, index_changed, settle_lanes
do
    local MAX_WAKE_TOKENS = 64
    local WAKE_TOKEN = '1'

    function wake(lane)
        if is_paused('lane:' .. lane) or failed.has(lane) then return end
        local key, wanted = D.wake(lane), math.min(free_slots(lane), MAX_WAKE_TOKENS)
        if wanted > 0 and call('LLEN', key) < wanted then call('RPUSH', key, WAKE_TOKEN) end
    end

    -- Wakes the best lanes, after room was made for all of them; the others are asked for within a second.
    function wake_best()
        for _, lane in ipairs(call('ZRANGE', K.lanes, 0, MAX_WAKE_TOKENS - 1)) do apart(wake, lane) end
    end

    -- Returns whether the lane has a candidate.
    local function index_lane(lane)
        local score = room_of(lane) > 0 and fair.claim(lane, best_score(lane)) or nil
        if score then
            call('ZADD', K.lanes, score, lane)
        else
            call('ZREM', K.lanes, lane)
            call('LREM', D.wake(lane), 0, WAKE_TOKEN) -- tokens that point to its Dramatiq list stay
        end
        return score ~= nil
    end

    -- For a lane that executions entered and nothing else touched: its best candidate changes only to a better one.
    local function index_offered(lane, score)
        if room_of(lane) > 0 then call('ZADD', K.lanes, 'LT', exact(score), lane) end
    end

    -- Indexes changed lanes in the middle of a call, before lanes are compared; the lane `but` is left out.
    function index_changed(but)
        for lane, score in pairs(changed.offered) do
            if not changed.touched[lane] and lane ~= but then apart(index_offered, lane, score) end
        end
        for lane in pairs(changed.touched) do
            if lane ~= but then apart(index_lane, lane) end
        end
    end

    -- Indexes and wakes lanes at the end of a call, so that no consumer is woken for a slot that was taken in it.
    function settle_lanes()
        for lane, score in pairs(changed.offered) do
            if not changed.touched[lane] then
                apart(index_offered, lane, score)
                apart(wake, lane)
            end
        end
        for lane in pairs(changed.touched) do
            if apart(index_lane, lane) then apart(wake, lane) end
        end
        for lane in pairs(changed.freed) do
            if not changed.touched[lane] and call('ZSCORE', K.lanes, lane) then apart(wake, lane) end
        end
        for lane, soon in pairs(changed.due_soon) do -- last, since index_lane drops the tokens of an empty lane
            if next(soon) then apart(wake, lane) end
        end
    end
end
