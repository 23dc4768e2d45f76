-- reprioritise: move a waiting execution to another band at its own time.
-- Atomic: only while it waits, so what was just admitted is never added again (D12); the time is unique, so it ties
-- with nobody there.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, id, band
--   caller number   the request token
-- Returns: {code, state}; code OK | UNKNOWN | ENDED | NOT_WAITING
once('reprioritise', function(id, band)
    local m = load(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    if m.state ~= 'PENDING' and m.state ~= 'SCHEDULED' then return {'NOT_WAITING', m.state} end

    local from = m.band
    call('HSET', D.meta(id), 'band', band)
    if m.state == 'PENDING' then
        local score = exact(tonumber(m.score) + (tonumber(band) - from) * BAND_WIDTH_MS)
        call('HSET', D.meta(id), 'score', score)
        call('ZADD', K.pending, score, id)
        if m.behind then
            call('ZADD', D.waiting(m.behind, m.lane), score, id)
            reindex(m.behind)
        else
            add_ready(m.lane, score, id)
        end
        touched[m.lane] = true
    end
    m.band = band
    journal('reprioritise', id, m, 'state', m.state, 'from', from)
    return {'OK', m.state}
end)
