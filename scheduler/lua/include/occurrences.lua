-- Occurrences of schedules: the executions `schedule:NAME:INSTANT`, parked before they are due.
local occurrences = {}
do
    local MISSED_AFTER_MS = 60000
    local OF_ID = '^schedule:([^:]+):(%d+T%d+Z)$'

    function occurrences.id_of(name, planned)
        return 'schedule:' .. name .. ':' .. string.match(planned, '/(.*)$')
    end

    -- Takes an occurrence back as if it had never been accepted, so that its id is free.
    local function take_back(id, m, reason)
        leave_waiting(id, m)
        call('SREM', D.members(m.lane), id)
        call('DEL', D.meta(id), D.event(id), D.message(id))
        count_action(m.action, 'total_completed')
        m.state, changed.freed[m.lane] = 'CANCELLED', true
        journal('cancel', id, m, 'state', m.state, 'reason', reason, 'dead', 0, asked())
    end

    local function is_first(m)
        return m and m.state == 'SCHEDULED' and tonumber(m.attempt or 0) == 0
    end

    -- Takes back what is parked and not due; the schedule has another rule, is paused or removed.
    function occurrences.take_back_all(s, reason)
        for _, planned in ipairs(s.planned) do
            local id = occurrences.id_of(s.name, planned)
            local m = load(id)
            if is_first(m) then take_back(id, m, reason) end
        end
        s.planned = {}
    end

    -- An execution is due. If it is an occurrence that is late, whoever plans decides anew, by the rule for missed ones.
    -- Returns whether it is not to be promoted.
    function occurrences.hold_back(id, m, due)
        local name, instant = string.match(id, OF_ID)
        local s = name and is_first(m) and schedules.state(name)
        if not s then return false end
        for i, planned in ipairs(s.planned) do
            local ms, of = string.match(planned, '^(%d+)/(.*)$')
            if of == instant then
                table.remove(s.planned, i)
                local is_late = now - due > MISSED_AFTER_MS
                if is_late then
                    s.cursor = math.min(s.cursor, tonumber(ms) - 1)
                    take_back(id, m, 'missed')
                    call('ZADD', K.schedule_times, now, name)
                elseif overlaps.skips(s, id) then
                    leave_waiting(id, m)
                    finish(id, m, 'cancel', 'CANCELLED', 'overlap', false, true)
                end
                schedules.keep(s, is_late)
                return m.state ~= 'SCHEDULED'
            end
        end
        return false
    end
end
