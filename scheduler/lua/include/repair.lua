-- Repairs that admitting and settling calls also make, so that workers alone need no scheduler, saturated or not: each
-- promotes due executions, lets some rise that wait for long, and reaps lost leases, only a few, so that a call stays short.
local repair, repair_now_and_then
do
    local PROMOTED_A_CALL = 50
    local REAPED_A_CALL = 5
    local REPAIRED_EACH_MS = 20 -- the least time between repairs by settlements
    local repaired_at -- the time of the last such repair of this queue; nil once a new clock of leases was noted
    local noted_then
    at_begin(function()
        if noted ~= noted_then then noted_then, repaired_at = noted, nil end
    end)

    -- Returns in how many ms the next execution is due or lease ends, if any; and whether nothing is left to do now.
    function repair()
        sweep_now_and_then()
        banding.rise_due()
        local promoted, due_at = promote_due(PROMOTED_A_CALL)
        local reaped, lease_at = reap_expired(REAPED_A_CALL)
        local wait_ms = math.min(due_at and due_at - now or math.huge, lease_at and lease_at - lease_now or math.huge)
        local is_done = promoted < PROMOTED_A_CALL and reaped < REAPED_A_CALL
        return wait_ms < math.huge and math.max(0, wait_ms) or nil, is_done
    end

    -- Under load there are many settlements a millisecond, but only a few repairs to make a second.
    function repair_now_and_then()
        if repaired_at and math.abs(now - repaired_at) < REPAIRED_EACH_MS then return end
        local _, is_done = repair()
        repaired_at = is_done and noted and now or nil
    end
end
