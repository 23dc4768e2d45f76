-- What calls that admit or settle do beside their own work, so that an application of workers alone needs no scheduler,
-- saturated or not: promote what is due, reap what was left; a few each, so that a call stays short.
local repair, repair_now_and_then
do
    local PROMOTED_A_CALL = 50
    local REAPED_A_CALL = 5
    local REPAIRED_EACH_MS = 20 -- by settlements
    local repaired_at -- by a settlement of this queue, a second ago at most: nil once another clock of leases was noted
    local noted_then
    at_begin(function()
        if noted ~= noted_then then noted_then, repaired_at = noted, nil end
    end)

    -- Returns in how many ms the next is due or to be reaped, if one is; and whether nothing was left for another call.
    function repair()
        sweep_now_and_then()
        local promoted, due_at = promote_due(PROMOTED_A_CALL)
        local reaped, lease_at = reap_expired(REAPED_A_CALL)
        local wait_ms = math.min(due_at and due_at - now or math.huge, lease_at and lease_at - lease_now or math.huge)
        local is_done = promoted < PROMOTED_A_CALL and reaped < REAPED_A_CALL
        return wait_ms < math.huge and math.max(0, wait_ms) or nil, is_done
    end

    -- Under load there are many settlements a millisecond; what each would look for comes a few times a second.
    function repair_now_and_then()
        if repaired_at and math.abs(now - repaired_at) < REPAIRED_EACH_MS then return end
        local _, is_done = repair()
        repaired_at = is_done and noted and now or nil
    end
end
