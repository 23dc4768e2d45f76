-- What calls that admit or settle do beside their own work, so that an application of workers alone needs no scheduler,
-- saturated or not: promote what is due, reap what was left; a few each, so that a call stays short.
local PROMOTED_A_CALL = 50
local REAPED_A_CALL = 5

local function first_at(timed)
    local head = call('ZRANGE', timed, 0, 0, 'WITHSCORES')
    return tonumber(head[2])
end

-- Returns how many, and when the next is due, if one is.
local function promote_due(bound)
    local at = first_at(K.scheduled)
    if not at or at >= now + 1 then return 0, at end
    local due = call('ZRANGEBYSCORE', K.scheduled, '-inf', '(' .. exact(now + 1), 'WITHSCORES', 'LIMIT', 0, bound)
    for i = 1, #due, 2 do
        local id = due[i]
        local m = load(id)
        call('ZREM', K.scheduled, id)
        if m and m.state == 'SCHEDULED' then
            m.score = exact(m.band * BAND_WIDTH_MS + next_time(tonumber(due[i + 1])))
            enter_pending(id, m)
            journal('promote', id, m, 'state', 'PENDING', 'score', m.score)
        elseif not m then
            delete_payload(id)
        end
    end
    return #due / 2, first_at(K.scheduled)
end

local function reap_one(id, m)
    local crashes = tonumber(m.crashes or 0) + 1
    call('HSET', D.meta(id), 'crashes', crashes)
    if m.cancel then
        leave_slot(id, m)
        finish(id, m, 'reap', m.cancel, m.cancel_reason, false, true)
    elseif crashes > setting('max_crashes') then
        leave_slot(id, m)
        finish(id, m, 'reap', 'FAILED', 'lease_lost', true, true)
    else
        wait_again(id, m, 'reap', 0, 'lease_lost')
    end
end

-- Returns how many were looked at, and when, by the clock of leases, the next one ends, if one does.
local function reap_expired(bound)
    local at = first_at(K.lease)
    if not at or at > lease_now then return 0, at end
    local expired = call('ZRANGEBYSCORE', K.lease, '-inf', lease_now, 'LIMIT', 0, bound)
    for _, lease in ipairs(expired) do
        local id = held_under(lease)
        local m = load(id)
        if not m or lease ~= lease_of(id, m) then
            forget_holding(lease, m)
        elseif m.state == 'RUNNING' then
            reap_one(id, m)
        else
            call('ZREM', K.lease, lease)
            leases_held = nil
        end
    end
    return #expired, first_at(K.lease)
end

-- Returns in how many ms the next is due or to be reaped, if one is; and whether nothing was left for another call.
local function repair()
    sweep_now_and_then()
    local promoted, due_at = promote_due(PROMOTED_A_CALL)
    local reaped, lease_at = reap_expired(REAPED_A_CALL)
    local wait_ms = math.min(due_at and due_at - now or math.huge, lease_at and lease_at - lease_now or math.huge)
    local is_done = promoted < PROMOTED_A_CALL and reaped < REAPED_A_CALL
    return wait_ms < math.huge and math.max(0, wait_ms) or nil, is_done
end

local repair_now_and_then
do
    local REPAIRED_EACH_MS = 20 -- by settlements
    local repaired_at -- by a settlement of this queue, a second ago at most: nil once another clock of leases was noted
    local noted_then
    at_begin(function()
        if noted ~= noted_then then noted_then, repaired_at = noted, nil end
    end)

    -- Under load there are many settlements a millisecond; what each would look for comes a few times a second.
    function repair_now_and_then()
        if repaired_at and math.abs(now - repaired_at) < REPAIRED_EACH_MS then return end
        local _, is_done = repair()
        repaired_at = is_done and noted and now or nil
    end
end
