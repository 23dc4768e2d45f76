-- reprioritise: move a waiting execution to another band at its own time.
-- Atomic: it acts only on a waiting execution, so one that was just admitted is never added again (D12). The time is
-- unique, so its score equals no other there.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, id, band, by
--   caller number   the request token
--   by              the operator who asks, '' for none
-- Returns: {code, state}; code OK | UNKNOWN | ENDED | NOT_WAITING
-- Uses: call, keys, settings, scores, journal, tombstones, changes, gates, candidates, deadlines, staleness,
--   transitions
once('reprioritise', function(id, band, by)
    asked_by = by
    local m = load(id) or load_tombstone(id)
    if not m then return {'UNKNOWN', ''} end
    if m.ended_at then return {'ENDED', m.state} end
    if m.state ~= 'PENDING' and m.state ~= 'SCHEDULED' then return {'NOT_WAITING', m.state} end

    local from = m.band
    call('HSET', D.meta(id), 'band', band)
    if m.state == 'PENDING' then
        local score = exact(tonumber(m.score) + (tonumber(band) - from) * BAND_WIDTH_MS)
        call('HSET', D.meta(id), 'score', score)
        call('ZADD', D.pending(m.lane), score, id)
        if m.behind then
            call('ZADD', D.waiting(m.behind, m.lane), score, id)
            reindex(m.behind)
        else
            add_ready(m.lane, score, id)
        end
        touched[m.lane] = true
        if overrides[reindexing_field(m.lane)] then enter_again(id, m) end -- re-indexing may have passed its new score
    end
    m.band = band
    journal('reprioritise', id, m, 'state', m.state, 'from', from, 'to', band, asked())
    return {'OK', m.state}
end)
