-- Accepts one execution, which waits from then on, or refuses it: for `park`, and for what a schedule makes (`plan`).
local parking = {ARGUMENTS_EACH = 14} -- the arguments of each: those of park.lua's header
do
    local function no_more() end
    -- Further keys for the write of the payload: the clock, with the last payload of a call.
    at_begin(function() parking.with_payload = no_more end)

    local OPTIONAL = {'user', 'gates', 'timeout_ms', 'lasting', 'expires_at', 'unique'} -- fields of meta

    local function keep_payload(id, event, message)
        if event == '' then return call('MSET', D.message(id), message, parking.with_payload()) end
        if message == '' then return call('MSET', D.event(id), event, parking.with_payload()) end
        call('MSET', D.event(id), event, D.message(id), message, parking.with_payload())
    end

    -- Stores all of an execution except meta; returns the fields of meta, which are written together with the state.
    local function keep(id, m, event, message, parent)
        note_sent(id, parent)
        keep_payload(id, event, message)
        call('SADD', D.members(m.lane), id)
        code_slots.enter(id, m.lane)
        note('used:' .. m.lane)
        count_queued(m.lane)
        count_action(m.action, 'total_enqueued')
        count_user(m, 1)
        local fields = {'lane', m.lane, 'band', m.band, 'action', m.action, 'accepted_at', now}
        for _, name in ipairs(OPTIONAL) do
            if m[name] then fields[#fields + 1], fields[#fields + 2] = name, m[name] end
        end
        return unpack(fields)
    end

    -- Optional fields of the journal's entry: each one that is written has its cost, and most messages need none of them.
    local function more_to_say(position, gates, due_ms)
        if position == -1 and gates == '' and due_ms == '' then return asked() end
        if position == -1 then return 'gates', gates, 'due', due_ms, asked() end
        return 'position', position, 'gates', gates, 'due', due_ms, asked()
    end

    function parking.park(id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, key)
        local m = {lane = lane, band = tonumber(band), action = action}
        m.timeout_ms, m.lasting = timeout_ms ~= '0' and timeout_ms, lasting ~= '' and lasting
        m.user, m.gates = user ~= '' and user or nil, gates ~= '' and gates or nil
        if max_age_ms ~= '' then m.expires_at = exact(now + max_age_ms) end
        if key ~= '' then m.wanted = unique.read(key) end
        local code, detail, known_as = refusal(id, m, parent)
        if code then
            journal_refusal(id, m, code)
            return {code, detail, known_as}
        end
        if m.wanted then m.unique = take_unique(id, m) end
        local due, position = tonumber(due_ms) or 0, -1
        if due > now then
            enter_scheduled(id, m, due, keep(id, m, event, message, parent))
            m.score = ''
            if due - now < 1000 then changed.note_soon(lane, id, true) end
        else
            fair.place(m, next_time(now))
            enter_pending(id, m, keep(id, m, event, message, parent))
            if event ~= '' then position = call('ZRANK', D.pending(lane), id) end
        end
        journal('park', id, m, 'state', m.state, 'score', m.score, more_to_say(position, gates, due_ms))
        return {'OK', m.state, position, m.score}
    end
end
