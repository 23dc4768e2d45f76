-- Admission from one lane or several, best first over all of them.
-- Adds to `grants`, until there are `count`, what these lanes have, ranked by their best candidates.
local function admit_ranked(grants, ranked, count, lease_ms, ceiling)
    while ranked[1] and #grants < count and room_over_all() > 0 and moves < MAX_MOVES do
        local lane, following = ranked[1][1], ranked[2] and ranked[2][2]
        admit_lane(grants, lane, count, lease_ms, nil, math.min(following or math.huge, ceiling or math.huge))
        local best = room_of(lane) > 0 and best_score(lane)
        table.remove(ranked, 1)
        if best and tonumber(best) <= (ceiling or math.huge) then
            local place = 1
            while ranked[place] and ranked[place][2] < tonumber(best) do place = place + 1 end
            table.insert(ranked, place, {lane, tonumber(best)})
        end
    end
end

local function set_of(lanes)
    local set = {}
    for _, lane in ipairs(lanes) do set[lane] = true end
    return set
end

-- Up to `count` grants of these lanes. Second result: 1 if more may be eligible: the bound of moves was reached, or, where
-- none is wanted, some would be. `max_active` is for one lane of which some are wanted.
local function admit(lanes, count, lease_ms, max_active)
    local grants = {}
    if #lanes == 1 and count > 0 then
        admit_lane(grants, lanes[1], count, lease_ms, max_active)
    else
        index_changed()
        local ranked = ranking(set_of(lanes))
        if count == 0 then return grants, (ranked[1] and room_over_all() > 0) and 1 or 0 end
        admit_ranked(grants, ranked, count, lease_ms)
    end
    return grants, (moves >= MAX_MOVES and #grants < count and room_over_all() > 0) and 1 or 0
end

-- After a settlement: into the caller's own process only what is better than all that live lanes have that are not its
-- own; else the lane that has the best is woken, also when the caller admits nothing. Tokens for touched lanes are pushed
-- only when all is settled, so that nobody is woken for a slot that is taken here.
local function admit_next(lanes, count, lease_ms)
    repair_now_and_then()
    local grants = {}
    if room_over_all() < 1 then return grants end
    index_changed(#lanes == 1 and lanes[1])
    local ranked, others = ranking(set_of(lanes))
    local other, ceiling = best_live(others)
    if #lanes == 1 and count > 0 then
        admit_lane(grants, lanes[1], count, lease_ms, nil, ceiling)
    elseif count > 0 then
        admit_ranked(grants, ranked, count, lease_ms, ceiling)
    end
    if other and #grants < math.max(count, 1) and not touched[other] and not freed[other] then wake(other) end
    return grants
end
