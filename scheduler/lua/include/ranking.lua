-- Which of several lanes comes first, which lanes have consumers that live, and which are in use at all.

local note_used, note_asked
do
    local kept -- field → when it was written, since the clock of leases was noted: most calls need not write them again
    local kept_then
    at_begin(function()
        if not noted or noted ~= kept_then then kept_then, kept = noted, {} end
    end)

    -- Returns whether it was time to.
    local function note(field)
        if kept[field] and math.abs(now - kept[field]) < NOTED_EACH_MS then return false end
        kept[field] = now
        call('HSET', K.rounds, field, now)
        return true
    end

    function note_used(lane)
        note('used:' .. lane)
    end

    -- By consumers that live. A full lane stands nowhere, and nothing tells that its bound was lost or raised by hand: so
    -- whether it has a candidate is looked at as often.
    function note_asked(lanes)
        for _, lane in ipairs(lanes) do
            if note('lane:' .. lane) then touched[lane] = true end
        end
    end
end

-- The lanes that have a candidate, best first: those of `own` (a set) that are not paused, with their scores; and the others,
-- flat, each with its score.
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
    local LIVE_CONSUMER_MS = 6000 -- one asks each second, and that is noted when the last note is a second old
    local MOST_ASKED_FOR = 1000 -- at once: Lua's stack has an end

    local function is_live(asked)
        return asked and math.abs(now - tonumber(asked)) <= LIVE_CONSUMER_MS
    end

    -- The first of these that has live consumers and is not paused, with its score. Mostly it is the first of all; where many
    -- have candidates and no consumers, more are asked for at once.
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
