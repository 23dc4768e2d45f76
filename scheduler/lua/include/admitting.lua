-- Admission from one lane or several, best first over all of them. Each lane stands for itself: one that fails is left out.
local admit, admit_next
do
    -- Returns what the lane's next one scores, if there is one that may start.
    local function admit_first(lane, grants, count, lease_ms, ceiling)
        admit_lane(lane, grants, count, lease_ms, nil, ceiling)
        return tonumber(room_of(lane) > 0 and best_score(lane) or nil)
    end

    -- Adds to `grants`, until there are `count`, what these lanes have, ranked by their best candidates. Returns whether there may
    -- be more for another call.
    local function admit_ranked(grants, ranked, count, lease_ms, ceiling)
        while #grants < count * GRANT_FIELDS and ranked[1] and room_over_all() > 0 do
            local lane, score = unpack(ranked[1])
            if is_spent() or score > ceiling then return true end
            local before = moves
            local best = apart(admit_first, lane, grants, count, lease_ms, math.min(ranked[2] and ranked[2][2] or ceiling, ceiling))
            table.remove(ranked, 1)
            -- An index that names what is not there, as damaged data may, would be gone through for ever.
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

    -- Up to `count` grants of these lanes. Second result: 1 if more may be eligible: this call is spent, or, where none is
    -- wanted, some would be. `max_active` is for one lane of which some are wanted.
    function admit(lanes, count, lease_ms, max_active)
        local grants, more = {}, false
        if #lanes == 1 and count > 0 then
            more = apart(admit_lane, lanes[1], grants, count, lease_ms, max_active)
        else
            index_changed()
            local ranked = ranking(set_of(lanes))
            if count == 0 then return grants, (ranked[1] and room_over_all() > 0) and 1 or 0 end
            more = admit_ranked(grants, ranked, count, lease_ms, math.huge)
        end
        return grants, (more and room_over_all() > 0) and 1 or 0
    end

    -- After a settlement: into the caller's own process only what is better than all that live lanes have that are not its
    -- own; else the lane that has the best is woken, also when the caller admits nothing. Tokens for touched lanes are pushed
    -- only when all is settled, so that nobody is woken for a slot that is taken here.
    function admit_next(lanes, count, lease_ms, max_active)
        local grants, more = {}, false
        if room_over_all() < 1 then return grants, 0 end
        index_changed(#lanes == 1 and lanes[1])
        local ranked, others = ranking(set_of(lanes))
        local other, ceiling = best_live(others)
        if #lanes == 1 and count > 0 then
            more = apart(admit_lane, lanes[1], grants, count, lease_ms, max_active, ceiling)
        elseif count > 0 then
            more = admit_ranked(grants, ranked, count, lease_ms, ceiling or math.huge)
        end
        if other and #grants < math.max(count, 1) * GRANT_FIELDS and not touched[other] and not freed[other] then apart(wake, other) end
        return grants, more and 1 or 0
    end
end
