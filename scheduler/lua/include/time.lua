-- The clock of leases: `now` plus an offset. It stands still while the server's time goes back, and in a gap without
-- any call (the server was down, or its time leapt forward), so that no lease ends then. Within the length of two
-- leases it stands still in one gap only, and half a lease counts of any other gap: where calls are always rare, each
-- gap would look like an outage, and no lease would ever end.
local NOTED_EACH_MS = 1000
local lease_now
local went_back -- whether the server's time is before that of an earlier call
local noted -- the text of the clock of leases: it changes once a second, so most calls read the same as the last one
local keep_lease_clock

do
    local lease_offset
    local runs_until -- on the clock of leases: it does not stand still in another gap before this time
    local noted_at -- this and the next two: the values in `noted`
    local noted_offset = 0
    local noted_runs_until = 0

    local function read_lease_clock(text)
        noted, noted_at, noted_offset, noted_runs_until = text, nil, 0, 0
        if text then
            local at, offset, ran_until = string.match(text, '^(%d+) (-?%d+) (-?%d+)$')
            noted_at, noted_offset, noted_runs_until = tonumber(at), tonumber(offset), tonumber(ran_until)
        end
    end

    -- If the noted clock is lost: an offset by which no lease ends too early; a dead holder's may last as long again.
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
        went_back = elapsed < 0
        if went_back then
            lease_offset = lease_offset - elapsed
        elseif elapsed > lease_ms / 2 then
            local stands_still = stood_at >= runs_until
            if stands_still then runs_until = stood_at + 2 * lease_ms end
            lease_offset = lease_offset - elapsed + (stands_still and 0 or math.ceil(lease_ms / 2))
        end
        lease_now = now + lease_offset
    end)

    -- Every call that changes something comes here; it writes at most once a second.
    function keep_lease_clock()
        if noted_at and now >= noted_at and now - noted_at < NOTED_EACH_MS then return end
        call('HSET', K.settings, 'lease_clock', string.format('%d %d %d', now, lease_offset, runs_until))
    end
end
