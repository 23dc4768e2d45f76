-- Rates of gates: at most `burst + t / interval_ms` grants in any time t, retries included. By the generic cell rate
-- algorithm (ITU-T I.371), one time a gate is enough. `rates` has them as `interval_ms burst …`: operators' under the gate or
-- kind, declared ones under `name\n`, put together from `name\nlane`. An operator's goes before a declared one.
local rates = {}
do
    local KEPT_MS = 600000 -- a time is kept for so long after it has come, for a clock that is set back
    local STEP_MS = 1 / 1024 -- a double of this size has no smaller steps
    local known -- gate → {interval_ms, burst, is_by_kind}, false for none, once read
    local times -- gate → its time, once read
    at_begin_and_failure(function() known, times = emptied(known), emptied(times) end)

    local any -- whether a gate has a rate, or stands in `later` because it had one
    at_begin(function()
        any = overrides.rated == '1'
        if not format then any = call('EXISTS', K.rates, K.later) > 0 end
    end)

    local function parsed(text, is_by_kind)
        local interval_ms, burst = string.match(text, '^(%S+) (%d+)')
        return {interval_ms = interval_ms + 0, burst = burst + 0, is_by_kind = is_by_kind}
    end

    function rates.read(gates)
        if not any then return end
        local names, unread = {}, {}
        for _, gate in ipairs(gates) do
            if known[gate] == nil then
                local kind, n = kind_of(gate) or gate, #names
                unread[#unread + 1] = gate
                names[n + 1], names[n + 2], names[n + 3], names[n + 4] = gate, gate .. '\n', kind, kind .. '\n'
            end
        end
        local found = unread[1] and call('HMGET', K.rates, unpack(names))
        for i, gate in ipairs(unread) do
            local own, of_kind = found[4 * i - 3] or found[4 * i - 2], found[4 * i - 1] or found[4 * i]
            known[gate] = own and parsed(own, false) or of_kind and parsed(of_kind, true)
        end
    end

    local function rate_of(gate)
        if any and known[gate] == nil then rates.read({gate}) end
        return known[gate] or nil
    end

    -- No time lies farther ahead than a burst takes, even if the rate was lower before, or the clock was set back.
    local function time_of(gate, rate)
        local at = times[gate] or call('GET', D.rate_time(gate)) or 0
        times[gate] = math.max(now, math.min(at, now + rate.burst * rate.interval_ms))
        return times[gate]
    end

    -- Returns how many more the gate lets through at this moment.
    function rates.left(gate)
        local rate = rate_of(gate)
        if not rate then return math.huge end
        return math.floor((now + STEP_MS - time_of(gate, rate)) / rate.interval_ms + rate.burst)
    end

    -- Returns in how many ms the gate lets the next one through; 0 if it does so now, or has no rate.
    function rates.wait_ms(gate)
        if rates.left(gate) > 0 then return 0 end
        return math.max(1, math.ceil(times[gate] - (known[gate].burst - 1) * known[gate].interval_ms - STEP_MS - now))
    end

    -- A time that was brought near has to be kept, or it would be brought near anew at each look.
    function rates.keep(gate)
        call('SET', D.rate_time(gate), exact(times[gate]), 'PX', math.ceil(times[gate] - now) + KEPT_MS)
    end

    function rates.is_by_kind(gate)
        return (rate_of(gate) or {}).is_by_kind
    end

    -- One grant passed these gates.
    function rates.spend(gates)
        for _, gate in ipairs(gates) do
            local rate = rate_of(gate)
            if rate then times[gate] = time_of(gate, rate) + rate.interval_ms end
            if rate then rates.keep(gate) end
        end
    end

    function rates.exist() return any end

    -- To be called when that may have changed, and if the settings were lost.
    function rates.mark()
        any, known = call('EXISTS', K.rates, K.later) > 0, {}
        keep_setting('rated', any and 1 or nil)
    end
end
