-- Fair lanes (`fair_by`, a gate's kind): the time part of a score is a start tag, so that the keys of a lane take turns by
-- weight within a band, however many of one key wait: start-time fair queueing (Goyal, Vin, Cheng 1996). What compares
-- lanes, and what says for how long something has waited, uses the set `times` instead, which has the time that the
-- score would have in another lane. What waited when the lane became fair goes first.
local fair = {}
do
    local STEP = 1024 -- ms between two tags of a key of weight 1

    -- Returns the kind of gate by which a lane is fair; nil if it is strict, also if an operator chose that.
    function fair.kind(lane)
        local kind = overrides[field_of(lane, 'fair_by')]
        return kind ~= '' and kind or nil
    end

    -- What passes no gate of the kind shares one key, the kind itself.
    local function key_of(m)
        local kind = fair.kind(m.lane)
        for _, gate in ipairs(gates_of(m)) do
            if string.sub(gate, 1, #kind + 1) == kind .. ':' then return gate end
        end
        return kind
    end

    local function base_of(m) return m.band * BAND_WIDTH_MS end

    local function step_of(key)
        local weight = overrides.weighted and call('HGET', K.weights, key) or 1
        return math.floor(STEP / shares.UNIT / weight) * shares.UNIT
    end

    -- Gives an execution its score in its band, at a tag if its lane is fair. `time`: what orders it elsewhere.
    function fair.place(m, time)
        if not fair.kind(m.lane) then
            m.score = exact(base_of(m) + time)
            return
        end
        local share = shares.read(m, key_of(m))
        m.is_alone = not share.at -- in its band, but for what goes before it
        if m.is_alone then shares.begin(share, m) end
        local wanted = share.last + step_of(share.key)
        local tag = math.max(share.at, wanted)
        if not m.is_alone then tag = shares.free_from(m.lane, base_of(m) + tag) - base_of(m) end
        -- Ties go by acceptance: the next key that begins has its place behind this one.
        if wanted <= share.at then share.at = tag + shares.UNIT end
        share.last, share.count = tag, share.count + 1
        shares.keep(share)
        m.score, m.time, m.is_placed, m.follows_own = exact(base_of(m) + tag), exact(time), true, share.count > 1
    end

    -- For an execution that comes back at its old score: it is counted again, if it was. A tag that was granted under those
    -- that count now is below all that are to come. Another one is of earlier tags (the clock went back, the lane became
    -- fair again): it goes before all that are counted, in place of waiting until their tags have reached its own.
    function fair.place_again(id, m)
        local share, tag = shares.read(m, key_of(m)), tonumber(m.score) - base_of(m)
        if share.at and tag >= share.at then tag = share.base - STEP end
        m.score = exact(shares.free_from(m.lane, base_of(m) + tag))
        m.time = field(id, 'time') or exact(m.score - base_of(m))
        if not share.at or m.score - base_of(m) < share.base then return end
        share.count = share.count + 1
        shares.keep(share)
    end

    -- It waits no longer. A key without waiters has the tag that was admitted last, so what was taken out costs it nothing.
    function fair.leave(m, is_granted)
        local share, tag = shares.read(m, key_of(m)), m.score - base_of(m)
        if not share.at or tag < share.base or share.count == 0 then return end
        share.count = share.count - 1
        if is_granted then
            share.at, share.admitted = math.max(share.at, tag + shares.UNIT), math.max(share.admitted, tag)
        end
        if share.count > 0 then shares.keep(share) else shares.rest(share, STEP) end
    end

    -- Returns a score as it stands beside those of other lanes: the best candidate's, with its time in place of its tag.
    function fair.claim(lane, score)
        if not score or not fair.kind(lane) then return score end
        local band = math.floor((tonumber(score) - now) / BAND_WIDTH_MS + 0.5)
        local flow, best = best_candidate(lane)
        local id = flow and tonumber(best) == tonumber(score) and first_of(lane, flow)
        local time = id and field(id, 'time')
        if id then return time and exact(band * BAND_WIDTH_MS + time) or score end
        return exact(band * BAND_WIDTH_MS + now)
    end
end
