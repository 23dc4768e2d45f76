-- Takes back grants whose lease ran out: their executions wait again at their original place, and become dead letters
-- after more than max_crashes lost leases.
local reap_expired
do
    local function take_back(id, m)
        local crashes = tonumber(m.crashes or 0) + 1
        call('HSET', D.meta(id), 'crashes', crashes)
        if m.cancel then
            leave_slot(id, m)
            finish(id, m, 'reap', m.cancel, m.cancel_reason, false, true)
        elseif code_slots.is_lane(m.lane) then -- the code that would run again is gone
            leave_slot(id, m)
            finish(id, m, 'reap', 'FAILED', 'lease_lost', false, true)
        elseif crashes > setting('max_crashes') then
            leave_slot(id, m)
            finish(id, m, 'reap', 'FAILED', 'lease_lost', true, true)
        else
            wait_again(id, m, 'reap', 0, 'lease_lost')
        end
    end

    local function reap_one(id, lease)
        local m = load(id)
        if not m or lease ~= lease_of(id, m) then
            forget_holding(lease, m)
        elseif m.state == 'RUNNING' then
            take_back(id, m)
        else
            call('ZREM', K.lease, lease)
            leases_held = nil
        end
        return true
    end

    -- Returns how many leases were looked at, and when, by the clock of leases, the next one ends, if there is one.
    function reap_expired(bound)
        local at = first_at(K.lease)
        if not at or at > lease_now then return 0, at end
        local expired = call('ZRANGEBYSCORE', K.lease, '-inf', lease_now, 'LIMIT', 0, bound)
        for _, lease in ipairs(expired) do
            local id = held_under(lease)
            if not apart(reap_one, id, lease) then call('ZADD', K.lease, lease_now + PUT_OFF_MS, lease) end
        end
        return #expired, first_at(K.lease)
    end
end
