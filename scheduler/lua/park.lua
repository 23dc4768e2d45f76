-- park: accept executions, which wait from then on, or refuse them, each on its own. It is one script, so a crash
-- leaves each whole or not at all (D3, D22). Atomic: duplicate guard, queue size, user limit, score and every index.
-- Due executions are promoted first, so that due times and acceptance times come from one rising clock.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, (id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent), …
--   caller number   the request token; behind all others may stand who asks, if an operator or a caller of the API does
--   user gates      '' for none; gates are separated by newlines
--   due_ms          unix milliseconds, '' for now
--   max_age_ms      how long after its acceptance it may start; '' for ever
--   event message   JSON and message bytes; '' for none, never both
--   lasting         '': its tombstone is kept for direct_ttl_seconds; 1, or its sending's digest: for meta_ttl_seconds
--   parent          the execution whose hook sends it, '' for none: the id is known as long as that execution lives
-- Returns: {reply, …}, one each: {'OK', state, position, score} | {'DUPLICATE', state, lasting} | {'QUEUE_FULL', limit}
--   | {'USER_LIMIT', limit}; position counts from 0 in its lane, -1 while scheduled, and for a message, whose sender is not
--   told; state '' if it is forgotten
-- Uses: call, keys, now, scores, journal, refusing, tombstones, changes, counts, gates, noting, waiting, room,
--   promoting, transitions
local ARGUMENTS_EACH = 13
local with_payload -- further keys for the same write: the clock, with the last payload of this call

local function keep_payload(id, event, message)
    if event == '' then
        call('MSET', D.message(id), message, with_payload())
    elseif message == '' then
        call('MSET', D.event(id), event, with_payload())
    else
        call('MSET', D.event(id), event, D.message(id), message, with_payload())
    end
end

-- Stores all of an execution except meta; returns the fields of meta, which are written together with the state.
local function keep(id, m, event, message, parent)
    note_sent(id, parent)
    keep_payload(id, event, message)
    call('SADD', D.members(m.lane), id)
    note('used:' .. m.lane)
    count_queued(m.lane)
    count_action(m.action, 'total_enqueued')
    count_user(m, 1)
    local fields = {'lane', m.lane, 'band', m.band, 'action', m.action, 'timeout_ms', m.timeout_ms, 'accepted_at', now}
    if m.user then fields[11], fields[12] = 'user', m.user end
    if m.gates then fields[#fields + 1], fields[#fields + 2] = 'gates', m.gates end
    if m.lasting then fields[#fields + 1], fields[#fields + 2] = 'lasting', m.lasting end
    if m.expires_at then fields[#fields + 1], fields[#fields + 2] = 'expires_at', m.expires_at end
    return unpack(fields)
end

-- Optional fields of the journal's entry: each one that is written has its cost, and most messages need none of them.
local function more_to_say(position, gates, due_ms)
    if position == -1 and gates == '' and due_ms == '' then return asked() end
    return 'position', position, 'gates', gates, 'due', due_ms, asked()
end

local function park(id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent)
    local m = {lane = lane, band = tonumber(band), action = action, timeout_ms = timeout_ms}
    m.lasting = lasting ~= '' and lasting
    if user ~= '' then m.user = user end
    if gates ~= '' then m.gates = gates end
    if max_age_ms ~= '' then m.expires_at = exact(now + max_age_ms) end
    local code, detail, known_as = refusal(id, m, parent)
    if code then
        journal_refusal(id, m, code)
        return {code, detail, known_as}
    end
    local due, position = tonumber(due_ms) or 0, -1
    if due > now then
        enter_scheduled(id, m, due, keep(id, m, event, message, parent))
        m.score = ''
        if due - now < 1000 then due_soon[lane] = true end
    else
        m.score = exact(m.band * BAND_WIDTH_MS + next_time(now))
        enter_pending(id, m, keep(id, m, event, message, parent))
        if event ~= '' then position = call('ZRANK', D.pending(lane), id) end
    end
    journal('park', id, m, 'state', m.state, 'score', m.score, more_to_say(position, gates, due_ms))
    return {'OK', m.state, position, m.score}
end

once_if_memory('park', function(...)
    local given, replies = {...}, {}
    with_payload = function() end
    promote_due(200)
    if #given % ARGUMENTS_EACH == 1 then asked_by = table.remove(given) end
    for i = 1, #given, ARGUMENTS_EACH do
        if i + ARGUMENTS_EACH > #given then with_payload = clock_to_keep end
        replies[#replies + 1] = park(unpack(given, i, i + ARGUMENTS_EACH - 1))
    end
    return replies
end)
