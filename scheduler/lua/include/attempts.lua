-- The ends of attempts that pass a gate with a limit `auto(least,most)`: each is counted in the transition that makes it, so
-- the figures are those of all workers and no process keeps any. Ends at other gates cost nothing.
local attempts = {}
do
    local ADDED_MS = 10 -- to run times, so that a few milliseconds more are not twice as many
    local FAILURES = {FAILED = true, TIMEOUT = true}
    local NO_FAILURES = {requeued = true, Retry = true, Shutdown = true} -- its body asked for it, or its worker stopped

    -- Returns whether an attempt failed by its code; nil if its end tells nothing: it was cancelled, lost or not begun.
    local function has_failed(m, kind, state, reason)
        if kind == 'requeue' then return not m.cancel and not NO_FAILURES[reason] or nil end
        if kind ~= 'release' or reason == 'skipped' then return nil end
        if state == 'COMPLETED' and (m.state == 'RUNNING' or not m.cancel) then return false end
        return FAILURES[m.cancel or state]
    end

    local function count(found, gate, granted_at, is_error)
        -- As the clock was set back, if they lie ahead.
        found.began_at, found.lowered_at = math.min(found.began_at, now), math.min(found.lowered_at, now)
        local held = call('SCARD', D.held(gate))
        found.peak = math.max(found.peak, held)
        if held >= found.now and found.is_full == 0 then found.is_full = call('EXISTS', D.gate_lanes(gate)) end
        if granted_at <= found.lowered_at then return end -- it began under another limit
        found.ends, found.errors = found.ends + 1, found.errors + (is_error and 1 or 0)
        if not is_error and granted_at <= now then
            found.timed, found.run_times = found.timed + 1, found.run_times + math.log(now - granted_at + ADDED_MS)
        end
    end

    local function put(gate, found, limit)
        if found.is_declared == 1 then
            defaults[gate] = limit
            keep_defaults()
        else
            call('HSET', K.limits, gate, limit)
            any_limited = true
            keep_setting('limited', 1)
        end
        forget_limits()
        reindex(gate)
    end

    local function note_end(gate, granted_at, is_error)
        local found = auto.of(gate)
        if not found then return adjusting.forget(gate) end
        read_limits({gate})
        local before = auto.text(found)
        found.now = auto.within(found, limits[gate] or found.now)
        count(found, gate, granted_at, is_error)
        local limit, why = adjusting.decide(found)
        if limit < found.now then found.lowered_at = now end
        local is_changed = limit ~= found.now
        found.now = limit
        auto.keep(gate, found)
        if limit ~= limits[gate] then put(gate, found, limit) end
        if is_changed then
            append('verb', 'limit', 'id', '', 'at', now, 'name', gate, 'from', before, 'to', auto.text(found) .. ': ' .. why, 'by', 'auto')
        end
    end

    -- To be called before the attempt leaves its gates.
    function attempts.note_end(id, m, kind, state, reason)
        local is_error = has_failed(m, kind, state, reason)
        if is_error == nil then return true end
        local granted_at
        for _, gate in ipairs(gates_of(m)) do
            if auto.has(gate) then
                granted_at = granted_at or tonumber(field(id, 'granted_at') or 0)
                note_end(gate, granted_at, is_error)
            end
        end
        return true
    end
end
