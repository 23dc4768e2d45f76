-- Moves waiting executions to other bands: those that operators chose, and those that waited for so long (`ageing`).
local banding = {}
do
    local RISEN_A_CALL = 20

    -- The time is unique, so in a lane that is not fair no other has the new score.
    local function place(m, band)
        if not fair.kind(m.lane) then
            m.score, m.band = exact(tonumber(m.score) + (band - m.band) * BAND_WIDTH_MS), band
            return
        end
        local time = m.time or m.score - m.band * BAND_WIDTH_MS
        fair.leave(m)
        m.band = band
        fair.place(m, time)
    end

    -- Moves a PENDING execution at its own time; in a fair lane, at a new tag.
    function banding.move(id, m, band)
        if band == m.band then return end
        place(m, band)
        m.band_since = now
        call('HSET', D.meta(id), 'band', band, 'band_since', now, 'score', m.score, unpack(m.time and {'time', m.time} or {}))
        call('ZADD', D.pending(m.lane), m.score, id)
        local behind = enter_flow(id, m)
        if behind then index_in(m.lane, behind) end
        changed.touched[m.lane] = true
        if overrides[deadline.reindexing_field(m.lane)] then
            deadline.enter_again(id, m) -- re-indexing may have passed its new score
        else
            ageing.leave(id, m.lane)
            ageing.enter(id, m, now)
        end
    end

    -- An entry may be too early, or of one that waits no more: a clock stepped back, or a record was lost.
    local function rise(id)
        local m = load(id)
        local at = m and m.state == 'PENDING' and ageing.rises_at(m, deadline.since(m))
        if not at or at > now then
            call('ZREM', K.ageing, id)
            if at then call('ZADD', K.ageing, at, id) end
            return true
        end
        local from = m.band
        banding.move(id, m, tostring(from - 1))
        journal('reprioritise', id, m, 'state', m.state, 'from', from, 'to', m.band, 'score', m.score, 'reason', 'aged')
        return true
    end

    -- Returns whether there may be more.
    function banding.rise_due()
        if not ageing.is_used() then return false end
        local due = call('ZRANGEBYSCORE', K.ageing, '-inf', now, 'LIMIT', 0, RISEN_A_CALL)
        for _, id in ipairs(due) do
            if moves >= MAX_MOVES then return true end
            moves = moves + 1
            if not apart(rise, id) then call('ZADD', K.ageing, now + PUT_OFF_MS, id) end
        end
        return #due == RISEN_A_CALL
    end
end
