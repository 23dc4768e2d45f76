-- The lanes by their best candidate, and the wake tokens: one a free slot, pushed to a lane that has a candidate.
-- A lost token costs a second, never more, since consumers wait no longer than that.
local MAX_WAKE_TOKENS = 64
local WAKE_TOKEN = '1'
local LIVE_CONSUMER_MS = 6000 -- one asks each second, and that is noted when the last note is a second old

local slots_taken -- counted once a call, and kept by what takes a slot or gives one back
at_begin(function() slots_taken = nil end)

local function free_slots(max_active)
    if is_paused('*') then return 0 end
    slots_taken = slots_taken or call('SCARD', K.active)
    return (max_active or setting('max_concurrent_executions')) - slots_taken
end

local function wake(lane)
    if is_paused('lane:' .. lane) then return end
    local key, wanted = D.wake(lane), math.min(free_slots(), MAX_WAKE_TOKENS)
    if wanted > 0 and call('LLEN', key) < wanted then call('RPUSH', key, WAKE_TOKEN) end
end

-- Returns whether the lane has a candidate.
local function index_lane(lane)
    local id, score = best_candidate(lane)
    if id then
        call('ZADD', K.lanes, score, lane)
    else
        call('ZREM', K.lanes, lane)
        call('LREM', D.wake(lane), 0, WAKE_TOKEN) -- those that point to its Dramatiq list stay
    end
    return id ~= nil
end

-- What entered a lane changes its best candidate only by being better.
local function index_offered()
    for lane, score in pairs(offered) do
        if not touched[lane] then
            local best = call('ZSCORE', K.lanes, lane)
            if not best or score < tonumber(best) then call('ZADD', K.lanes, exact(score), lane) end
            wake(lane)
        end
    end
end

-- At the end of a call.
local function settle_lanes()
    index_offered()
    for lane in pairs(touched) do
        if index_lane(lane) then wake(lane) end
    end
    for lane in pairs(freed) do
        if not touched[lane] and call('ZSCORE', K.lanes, lane) then wake(lane) end
    end
    for lane in pairs(due_soon) do wake(lane) end -- last, for the tokens of an empty lane are dropped
end

-- Another lane than `own`: the one with the best candidate among those that have live consumers, and its score.
local function best_live_lane_but(own)
    local lanes = call('ZRANGE', K.lanes, 0, -1, 'WITHSCORES')
    for i = 1, #lanes, 2 do
        local lane = lanes[i]
        local asked = lane ~= own and call('HGET', K.rounds, 'lane:' .. lane)
        local live = asked and now - tonumber(asked) <= LIVE_CONSUMER_MS
        if live and not is_paused('lane:' .. lane) then return lane, tonumber(lanes[i + 1]) end
    end
end
