-- Which of several lanes comes first, and which have live consumers.
-- Notes that live consumers ask for these lanes. A full lane is in no index, and nothing shows that its bound was lost or
-- raised by hand; so each time, the lane is also checked for a candidate.
local function note_asked(lanes)
    for _, lane in ipairs(lanes) do
        if note('lane:' .. lane) then touched[lane] = true end
    end
end

-- Returns the lanes that have a candidate, best first: those in the set `own` that are not paused, as pairs of lane and
-- score; and all others, as a flat list of lanes and scores.
local function ranking(own)
    local ranked, others = {}, {}
    local lanes = call('ZRANGE', K.lanes, 0, -1, 'WITHSCORES')
    for i = 1, #lanes, 2 do
        local lane, score = lanes[i], lanes[i + 1]
        if not own[lane] then
            others[#others + 1], others[#others + 2] = lane, score
        elseif not is_paused('lane:' .. lane) then
            ranked[#ranked + 1] = {lane, tonumber(score)}
        end
    end
    return ranked, others
end

local best_live
do
    local LIVE_CONSUMER_MS = 6000 -- a consumer asks every second, and that is noted at most once a second
    local MOST_ASKED_FOR = 1000 -- fields in one command: Lua's stack is limited

    local function is_live(asked)
        return asked and math.abs(now - tonumber(asked)) <= LIVE_CONSUMER_MS
    end

    -- Returns the first of these lanes that has live consumers and is not paused, with its score. Mostly it is the very
    -- first; if that one has no live consumers, many are read at once.
    function best_live(others)
        local from, count = 1, 1
        while others[from] do
            local names = {}
            for i = from, math.min(from + 2 * count, #others) - 1, 2 do names[#names + 1] = 'lane:' .. others[i] end
            for i, asked in ipairs(call('HMGET', K.rounds, unpack(names))) do
                if is_live(asked) and not is_paused(names[i]) then
                    return others[from + 2 * i - 2], tonumber(others[from + 2 * i - 1])
                end
            end
            from, count = from + 2 * count, MOST_ASKED_FOR
        end
    end
end
