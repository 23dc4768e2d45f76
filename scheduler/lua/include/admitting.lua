-- Admission from one lane or several, best first over all of them. A lane that fails is left out; the others go on.
local admit, admit_next
do
    -- Returns the score of the lane's next candidate, if the lane has one and room for it.
    local function admit_first(lane, grants, count, lease_ms, ceiling)
        admit_lane(lane, grants, count, lease_ms, nil, ceiling)
        return tonumber(room_of(lane) > 0 and fair.claim(lane, best_score(lane)) or nil)
    end

    -- Adds grants from the ranked lanes to `grants`, until there are `count`. Returns whether there may be more for
    -- another call.
    local function admit_ranked(grants, ranked, count, lease_ms, ceiling)
        while #grants < count * GRANT_FIELDS and ranked[1] and room_over_all() > 0 do
            local lane, score = unpack(ranked[1])
            if is_spent() or score > ceiling then return true end
            local before = moves
            local best = apart(admit_first, lane, grants, count, lease_ms, math.min(ranked[2] and ranked[2][2] or ceiling, ceiling))
            table.remove(ranked, 1)
            -- Without this check, a damaged index that names a missing execution would make the loop endless.
            if best and (moves > before or best > score) then
                local place = 1
                while ranked[place] and ranked[place][2] < best do place = place + 1 end
                table.insert(ranked, place, {lane, best})
            end
        end
        return false
    end

    local function set_of(lanes)
        local set = {}
        for _, lane in ipairs(lanes) do set[lane] = true end
        return set
    end

    -- Returns up to `count` grants of these lanes, and 1 if more may be eligible: this call is spent, or `count` is 0
    -- and there are candidates. `max_active` is for a single lane and a count above 0.
    function admit(lanes, count, lease_ms, max_active)
        local grants, more = {}, false
        if #lanes == 1 and count > 0 then
            more = apart(admit_lane, lanes[1], grants, count, lease_ms, max_active)
        else
            index_changed()
            local ranked = ranking.of(lanes)
            if count == 0 then return grants, (ranked[1] and room_over_all() > 0) and 1 or 0 end
            more = admit_ranked(grants, ranked, count, lease_ms, math.huge)
        end
        return grants, (more and room_over_all() > 0) and 1 or 0
    end

    -- Moves a lane's candidate away if one of its gates has closed since the lane was told. Returns whether it was so.
    local function move_mistaken(lane)
        local flow, score = best_candidate(lane)
        local closed = flow and moves < MAX_MOVES and closed_gate(lines_of(flow))
        if not closed then return false end
        moves = moves + 1
        move_behind(lane, flow, score, closed)
        return true
    end

    -- Returns the best lane of others, and its candidate's score. Only behind crowded gates may lanes be mistaken.
    local function best_other(own, but)
        while true do
            local lane, score = ranking.best_live(own)
            if not lane or not crowded.any() or not apart(move_mistaken, lane) then return lane, score end
            index_changed(but)
        end
    end

    -- Admits after a settlement: only executions that go before the best candidate of all live lanes that are not the
    -- caller's. If slots are left, that candidate's lane is woken, even if the caller admits nothing. Touched lanes get
    -- their tokens only at the end of the call, so that no consumer is woken for a slot that is taken here.
    function admit_next(lanes, count, lease_ms, max_active)
        local grants, more = {}, false
        if room_over_all() < 1 then return grants, 0 end
        local but = #lanes == 1 and lanes[1]
        index_changed(but)
        local other, ceiling = best_other(set_of(lanes), but)
        if #lanes == 1 and count > 0 then
            more = apart(admit_lane, lanes[1], grants, count, lease_ms, max_active, ceiling)
        elseif count > 0 then
            more = admit_ranked(grants, ranking.of(lanes), count, lease_ms, ceiling or math.huge)
        end
        if other and #grants < math.max(count, 1) * GRANT_FIELDS and not changed.touched[other] and not changed.freed[other] then apart(wake, other) end
        return grants, more and 1 or 0
    end
end
