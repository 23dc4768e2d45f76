-- When a kind's limit rises, each of its closed gates may have room: each is checked once, best waiter first. Admission
-- from a lane checks as many as the lane's best candidate depends on, and every call checks a few more, so that the
-- work ends soon. An unchecked gate's best waiter counts as a candidate, so the order holds meanwhile.
local look_again, best_score, carry_on
do
    local LOOKED_A_CALL = 20

    -- Returns a lane's best gate that was not checked yet: the gate, its best waiter's score, its kind.
    local function first_unseen(lane)
        if not raised[lane] then return end
        local gate, score, kind
        for each, from in pairs(raised[lane]) do
            local head = call('ZRANGEBYSCORE', D.closed(each, lane), '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
            if not head[1] then
                raised[lane][each] = nil
            elseif not score or tonumber(head[2]) < tonumber(score) then
                gate, score, kind = head[1], head[2], each
            end
        end
        if not kind then raised[lane] = nil end
        return gate, score, kind
    end

    local function look_at(lane, gate, score, kind)
        raised[lane][kind] = score
        moves = moves + 1
        reindex(gate)
    end

    -- Checks gates until the lane's best candidate is known, or the bound of moves is reached.
    function look_again(lane)
        while raised[lane] and moves < MAX_MOVES do
            local gate, score, kind = first_unseen(lane)
            local _, best = best_candidate(lane)
            if not gate or (best and tonumber(best) < tonumber(score)) then return end
            look_at(lane, gate, score, kind)
        end
    end

    -- Returns the score of the lane's best candidate, waiters behind unchecked gates included.
    function best_score(lane)
        local _, score = best_candidate(lane)
        local _, unseen = first_unseen(lane)
        if unseen and (not score or tonumber(unseen) < tonumber(score)) then return unseen end
        return score
    end

    local function carry_on_in(lane, left)
        while raised[lane] and left > 0 do
            local gate, score, kind = first_unseen(lane)
            if gate then look_at(lane, gate, score, kind) end
            left = left - 1
        end
        return left
    end

    function carry_on()
        local left = LOOKED_A_CALL
        for lane in pairs(raised) do left = apart(carry_on_in, lane, left) or left end
    end
end

-- To be called when `limits:defaults` was changed.
local function change_defaults()
    local before, autos = defaults, nil
    defaults, autos = put_together()
    adjusting.follow(autos)
    keep_defaults()
    forget_limits()
    for name, limit in pairs(before) do
        if is_kind(name) and (not defaults[name] or defaults[name] > limit) then raise(name) end
    end
    for lane in pairs(raised) do changed.touched[lane] = true end -- its gates are candidates from now on
    for _, changed in ipairs({before, defaults}) do
        for name in pairs(changed) do
            if not is_kind(name) and before[name] ~= defaults[name] then reindex(name) end
        end
    end
end

-- To be called when the rates of these gates and kinds were changed.
local function change_rates(names)
    rates.mark()
    for name in pairs(names) do
        if is_kind(name) then raise(name) else reindex(name) end
    end
    for lane in pairs(raised) do changed.touched[lane] = true end
end
