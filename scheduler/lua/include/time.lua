-- The clock of leases, beside the server's own time: it is `now` plus an offset. It stands still while the time
-- goes back, and in a gap in which nobody called (the server was away, the time leapt), so that no lease ends in it. Only
-- one gap in the length of two leases stands still, and of the others half a lease counts: where calls are always rare,
-- each would look like an outage, and no lease would ever end.
local NOTED_EACH_MS = 1000
local lease_now
local noted -- as the clock of leases was read: it changes once a second, and most calls read what the last one read
local keep_lease_clock

do
    local lease_offset
    local runs_until -- by the clock of leases: it does not stand still in another gap before
    local noted_at -- what was noted
    local noted_offset = 0
    local noted_runs_until = 0

    local function read_lease_clock(text)
        noted, noted_at, noted_offset, noted_runs_until = text, nil, 0, 0
        if text then
            local at, offset, ran_until = string.match(text, '^(%d+) (-?%d+) (-?%d+)$')
            noted_at, noted_offset, noted_runs_until = tonumber(at), tonumber(offset), tonumber(ran_until)
        end
    end

    -- Where what was noted is lost: so that no holder's lease is over before its time. A dead one's may last as long again.
    local function offset_of_leases()
        local offset = 0
        for leases, ttl in pairs({[K.lease] = 'lease_ttl_ms', [K.pod_lease] = 'pod_lease_ttl_ms'}) do
            local ends = tonumber(call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2])
            if ends then offset = math.min(offset, math.floor(ends) - setting(ttl) - now) end
        end
        return offset
    end

    at_begin(function()
        if lease_clock ~= noted then read_lease_clock(lease_clock) end
        local elapsed = now - (noted_at or now)
        lease_offset, runs_until = noted_at and noted_offset or offset_of_leases(), noted_runs_until
        local stood_at, lease_ms = now - elapsed + lease_offset, setting('lease_ttl_ms')
        if elapsed < 0 then
            lease_offset = lease_offset - elapsed
        elseif elapsed > lease_ms / 2 then
            local stands_still = stood_at >= runs_until
            if stands_still then runs_until = stood_at + 2 * lease_ms end
            lease_offset = lease_offset - elapsed + (stands_still and 0 or math.ceil(lease_ms / 2))
        end
        lease_now = now + lease_offset
    end)

    -- Of each call that changes something: at most one write a second.
    function keep_lease_clock()
        if noted_at and now >= noted_at and now - noted_at < NOTED_EACH_MS then return end
        call('HSET', K.settings, 'lease_clock', string.format('%d %d %d', now, lease_offset, runs_until))
    end
end
