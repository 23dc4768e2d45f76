-- Grants slots to code that waits (include/code_slots.lua). Who waits needs no thread and can begin at once, so the call
-- that made room grants, before any consumer can ask: the order over a gate is that of acceptance, over all lanes. Only
-- executions of live lanes that wait for the same gate and go before are left their room; the next rounds of who waits
-- may insist, if that room was not taken.
local serve
do
    local insisting, yielded
    at_begin(function() insisting, yielded = emptied(insisting), emptied(yielded) end)

    -- Returns for how many ms the owner's last sign of life holds.
    local function left_of(owner)
        return owner and tonumber(call('ZSCORE', K.owners, owner) or lease_now) - lease_now or 0
    end

    -- Returns whether there may be more to grant.
    local function serve_next(lane, grants)
        look_again(lane)
        local flow = best_candidate(lane)
        local id = flow and first_of(lane, flow)
        local m = id and load_candidate(id)
        local left = m and left_of(code_slots.owner_of(id)) or 1
        if left <= 0 then
            expire(id, m, 'waiter_lost')
            moves = moves + 1
            return moves < MAX_MOVES
        end
        if m and not insisting[lane] and yields(id, m) then
            yielded[#yielded + 1] = lane
            return false
        end
        local before = #grants
        admit_lane(lane, grants, before / GRANT_FIELDS + 1, left)
        if #grants == before then return false end
        code_slots.tell(grants[before + 1], table.concat({'GRANTED', grants[before + 2], nonce}, ' '))
        return true
    end

    local function serve_lane(lane)
        local grants, given = {}, nonce
        nonce = string.format('slot:%d', now)
        while free_slots(lane) > 0 and not is_paused('lane:' .. lane) and serve_next(lane, grants) do end
        nonce = given
    end

    -- Serves the lanes that this call changed, so far.
    function serve()
        reopening.open_due()
        local lanes = {}
        for _, found in ipairs({changed.touched, changed.offered}) do
            for lane in pairs(found) do
                if code_slots.is_lane(lane) then lanes[lane] = true end
            end
        end
        for lane in pairs(lanes) do apart(serve_lane, lane) end
    end

    code_slots.insist = function(lane) insisting[lane] = true end

    code_slots.yielded = function() return yielded end
end
