-- The lanes by their best candidate, and the wake tokens: one a free slot, pushed to a lane that has a candidate.
-- A lane whose own bound is reached has none, whoever waits there: it is not among the lanes, gets no token and is nobody's
-- better lane, until a slot of its own comes back or the bound is raised.
-- A lost token costs a second, never more, since consumers wait no longer than that. One that failed in this call gets none,
-- or whoever took it would fail again at once.
local wake, index_changed, settle_lanes
do
    local MAX_WAKE_TOKENS = 64
    local WAKE_TOKEN = '1'

    function wake(lane)
        if is_paused('lane:' .. lane) or has_failed(lane) then return end
        local key, wanted = D.wake(lane), math.min(free_slots(lane), MAX_WAKE_TOKENS)
        if wanted > 0 and call('LLEN', key) < wanted then call('RPUSH', key, WAKE_TOKEN) end
    end

    -- Returns whether the lane has a candidate.
    local function index_lane(lane)
        local score = room_of(lane) > 0 and best_score(lane) or nil
        if score then
            call('ZADD', K.lanes, score, lane)
        else
            call('ZREM', K.lanes, lane)
            call('LREM', D.wake(lane), 0, WAKE_TOKEN) -- those that point to its Dramatiq list stay
        end
        return score ~= nil
    end

    -- What entered a lane that was not touched otherwise changes its best candidate only by being better.
    local function index_offered(lane, score)
        if room_of(lane) < 1 then return end
        local best = call('ZSCORE', K.lanes, lane)
        if not best or score < tonumber(best) then call('ZADD', K.lanes, exact(score), lane) end
    end

    -- In the middle of a call, before lanes are compared; the lane `but` is not one of them.
    function index_changed(but)
        for lane, score in pairs(offered) do
            if not touched[lane] and lane ~= but then apart(index_offered, lane, score) end
        end
        for lane in pairs(touched) do
            if lane ~= but then apart(index_lane, lane) end
        end
    end

    -- At the end of a call, when its slots are given: nobody is woken for one that was taken here.
    function settle_lanes()
        for lane, score in pairs(offered) do
            if not touched[lane] then
                apart(index_offered, lane, score)
                apart(wake, lane)
            end
        end
        for lane in pairs(touched) do
            if apart(index_lane, lane) then apart(wake, lane) end
        end
        for lane in pairs(freed) do
            if not touched[lane] and call('ZSCORE', K.lanes, lane) then apart(wake, lane) end
        end
        for lane in pairs(due_soon) do apart(wake, lane) end -- last, for the tokens of an empty lane are dropped
    end
end
