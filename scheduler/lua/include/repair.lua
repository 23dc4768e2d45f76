-- What every consumer's round does beside its own work, so that an application of workers alone needs no scheduler:
-- promote what is due, reap what was left. After a gap in these rounds (the server was away, a clock leapt) leases
-- are extended once before they are reaped, so that a leap of the clock expires nobody.
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
            refresh_payload(id)
            journal('promote', id, m, 'state', 'PENDING', 'score', m.score)
        end
    end
    return #due / 2, first_at(K.scheduled)
end

local function reap_one(id, m)
    local crashes = tonumber(m.crashes or 0) + 1
    call('HSET', D.meta(id), 'crashes', crashes)
    if m.cancel then
        leave_slot(id, m)
        finish(id, m, 'reap', m.cancel, m.cancel_reason, false)
    elseif crashes > setting('max_crashes') then
        leave_slot(id, m)
        finish(id, m, 'reap', 'FAILED', 'lease_lost', true)
    else
        wait_again(id, m, 'reap', 0, 'lease_lost')
    end
end

-- Leases that ended in the gap, or would end before their owners may be heard again. One that was extended and ran out
-- again is not extended twice: where rounds are always rare, each looks like a gap, and slots would be lost for ever.
local function extend_after_gap(extended_to)
    local until_ms = now + setting('lease_ttl_ms') - 1 -- below what a grant or a renewal gives at this moment
    for _, id in ipairs(call('ZRANGEBYSCORE', K.lease, '(' .. exact(extended_to), '(' .. exact(until_ms))) do
        call('ZADD', K.lease, until_ms, id)
    end
    call('HSET', K.rounds, 'extended_to', until_ms)
end

local function is_recent(at)
    return at and now >= tonumber(at) and now - tonumber(at) < 1000
end

-- `lane` is that of a live consumer that asks, which keeps it known as live. Returns how many were looked at, and when
-- the next lease ends, if one does.
local function reap_expired(bound, lane)
    local asked = 'lane:' .. (lane or '')
    local rounds = call('HMGET', K.rounds, 'reap', 'extended_to', asked)
    local last = tonumber(rounds[1] or now)
    local gap = now < last or now - last > setting('lease_ttl_ms') / 2
    if lane and not is_recent(rounds[3]) then call('HSET', K.rounds, asked, now) end
    if gap or bound > 10 or not is_recent(rounds[1]) then call('HSET', K.rounds, 'reap', now) end
    if gap then extend_after_gap(tonumber(rounds[2] or '-1')) end
    local at = first_at(K.lease)
    if not at or at > now then return 0, at end
    local expired = call('ZRANGEBYSCORE', K.lease, '-inf', now, 'LIMIT', 0, bound)
    for _, id in ipairs(expired) do
        local m = load(id)
        if m and m.state == 'RUNNING' then reap_one(id, m) else call('ZREM', K.lease, id) end
    end
    return #expired, first_at(K.lease)
end
