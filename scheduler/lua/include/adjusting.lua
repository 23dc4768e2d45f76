-- How a limit `auto(least,most)` is adjusted: additive increase, multiplicative decrease, at most once a window. A window
-- has as many ends as could hold the gate, ten at least, and takes a second at least. scheduler/model/auto.py says why.
local adjusting = {}
do
    local LEAST_ENDS, LEAST_TIMED, LEAST_MS = 10, 5, 1000
    local RAISED_UP_TO, LOWERED_ABOVE = 0.05, 0.1 -- the share of errors
    local LOWERED_TO = 0.7
    local NOT_SLOW, SLOW = 0.405, 0.693 -- against the usual run time: 1.5 and 2, as logarithms
    local HELPED = -0.163 -- against the run time for which it was lowered: 0.85, likewise

    local function begin_window(found)
        found.began_at, found.peak, found.is_full = now, 0, 0
        found.ends, found.errors, found.timed, found.run_times = 0, 0, 0, 0
    end

    -- A gate has these bounds from now on. `limit`: the one before, if it had one.
    function adjusting.begin(gate, bounds, limit, is_declared)
        local found = {
            least = bounds.least, most = bounds.most, is_declared = is_declared and 1 or 0,
            now = auto.within(bounds, bounds.start or limit or bounds.least), lowered_at = 0, usual = 0, slow = 0,
        }
        begin_window(found)
        auto.keep(gate, found)
        auto.mark()
        return found
    end

    -- What is known of a gate is lost, or of no use any more.
    function adjusting.forget(gate)
        call('HDEL', K.auto_limits, gate)
        auto.mark()
    end

    function adjusting.stop(gate)
        if auto.has(gate) then adjusting.forget(gate) end
    end

    -- Begins and stops what lanes declare, `autos`, gate → bounds: an operator's limit goes before.
    function adjusting.follow(autos)
        for _, gate in ipairs(auto.gates()) do
            local found = auto.of(gate)
            if not found or found.is_declared == 1 and not autos[gate] then adjusting.stop(gate) end
        end
        for gate, bounds in pairs(autos) do
            local found, is_operators = auto.of(gate), call('HEXISTS', K.limits, gate) == 1
            if is_operators then
                if found and found.is_declared == 1 then adjusting.stop(gate) end
            elseif not found or found.least ~= bounds.least or found.most ~= bounds.most then
                adjusting.begin(gate, bounds, found and found.now, true)
            end
        end
    end

    -- Returns how much slower the window was than usual, as a logarithm, and its run time. What stays slow at a lower limit,
    -- or at the least one, is slow by itself: that is the usual run time from then on.
    local function slowness(found)
        if found.timed < LEAST_TIMED then return 0 end
        local run_time = found.run_times / found.timed
        local is_in_vain = found.slow > 0 and run_time > found.slow + HELPED
        local is_at_least = found.now == found.least and run_time > found.usual + SLOW
        if found.usual == 0 or is_in_vain or is_at_least then found.usual = run_time end
        local slower = run_time - found.usual
        -- Half of the way down, and a thousandth up: else the luckiest window that ever was would be the usual one.
        found.usual, found.slow = found.usual + slower * (slower < 0 and 0.5 or 0.001), 0
        return slower, run_time
    end

    -- Returns the next limit, and why; the same one as long as the window goes on.
    function adjusting.decide(found)
        local held = math.min(found.now, found.peak)
        if found.ends < math.max(LEAST_ENDS, held) or now - found.began_at < LEAST_MS then return found.now end
        local slower, run_time = slowness(found)
        local share, limit, why = found.errors / found.ends, found.now, nil
        if share > LOWERED_ABOVE or slower > SLOW then
            limit = auto.within(found, math.min(found.now - 1, math.floor(LOWERED_TO * held)))
            why = string.format('run time %.1f times the usual', math.exp(slower))
            if share > LOWERED_ABOVE then why = string.format('%d of %d failed', found.errors, found.ends) else found.slow = run_time end
        elseif found.is_full == 1 and share <= RAISED_UP_TO and slower <= NOT_SLOW then
            limit, why = auto.within(found, found.now + 1), 'full'
        end
        begin_window(found)
        return limit, why
    end
end
