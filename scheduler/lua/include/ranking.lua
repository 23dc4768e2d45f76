-- Which of several lanes comes first, and which have live consumers.
-- Notes that live consumers ask for these lanes. A full lane is in no index, and nothing shows that its bound was lost or
-- raised by hand; so each time, the lane is also checked for a candidate.
local function note_asked(lanes)
    for _, lane in ipairs(lanes) do
        if note('lane:' .. lane) then changed.touched[lane] = true end
    end
end

local ranking = {}

-- Returns those of these lanes that have a candidate and are not paused, best first, as pairs of lane and score.
function ranking.of(own)
    local ranked = {}
    for i, score in ipairs(own[1] and call('ZMSCORE', K.lanes, unpack(own)) or {}) do
        if score and not is_paused('lane:' .. own[i]) then ranked[#ranked + 1] = {own[i], tonumber(score)} end
    end
    table.sort(ranked, function(one, other) return one[2] < other[2] end)
    return ranked
end

do
    local LIVE_CONSUMER_MS = 6000 -- a consumer asks every second, and that is noted at most once a second
    local FEW, MANY, MOST = 2, 100, 1000 -- lanes looked at: first, then each time, and at most

    -- Whether live consumers ask for a lane that is not paused.
    function ranking.is_served(lane, asked)
        return asked and math.abs(now - tonumber(asked)) <= LIVE_CONSUMER_MS and not is_paused('lane:' .. lane)
    end

    -- Returns the best lane that is not in the set `own`, has live consumers and is not paused, with its score. Mostly it is
    -- one of the first; those behind very many that nobody serves are left to their own consumers, who ask every second.
    function ranking.best_live(own)
        local from, count = 0, FEW
        while from < MOST do
            local lanes, names = call('ZRANGE', K.lanes, from, from + count - 1, 'WITHSCORES'), {}
            for i = 1, #lanes, 2 do names[#names + 1] = 'lane:' .. lanes[i] end
            for i, asked in ipairs(names[1] and call('HMGET', K.rounds, unpack(names)) or {}) do
                local lane = lanes[2 * i - 1]
                if not own[lane] and ranking.is_served(lane, asked) then return lane, tonumber(lanes[2 * i]) end
            end
            if #names < count then return end
            from, count = from + count, MANY
        end
    end
end
