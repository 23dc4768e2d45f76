-- park: accept executions, which wait from then on, or refuse them, each on its own. It is one script, so a crash
-- leaves each whole or not at all (D3, D22). Atomic: duplicate guard, unique key, bounds, score and every index.
-- Due executions are promoted first, so that due times and acceptance times come from one rising clock.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, (id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, key), …
--   caller number   the request token; behind all others may stand who asks, if an operator or a caller of the API does
--   user gates      '' for none; gates are separated by newlines
--   due_ms          unix milliseconds, '' for now
--   max_age_ms      how long after its acceptance it may start; '' for ever
--   event message   JSON and message bytes; '' for none, never both
--   lasting         '': its tombstone is kept for direct_ttl_seconds; 1, or its sending's digest: for meta_ttl_seconds
--   parent          the execution whose hook sends it, '' for none: the id is known as long as that execution lives
--   key             '' for none; or `SCOPE CONFLICT KEY`: its unique key, which keeps others out while it waits (started),
--                   until it has ended (ended), or for so many ms; CONFLICT: if one waits that has it, keep it or replace it
-- Returns: {reply, …}, one each: {'OK', state, position, score} | {'DUPLICATE', state, lasting} | {'QUEUE_FULL', limit}
--   | {'USER_LIMIT', limit} | {'NOT_UNIQUE', id, state} of the one that has the key; position counts from 0 in its lane, -1
--   while scheduled, and for a message, whose sender is not told; state '' if it is forgotten
-- Uses: call, keys, code_slots, now, scores, journal, refusing, tombstones, changes, counts, changed, fair, noting,
--   unique, waiting, room, promoting, transitions
local ARGUMENTS_EACH = 14
local OPTIONAL = {'user', 'gates', 'timeout_ms', 'lasting', 'expires_at', 'unique'} -- fields of meta
local with_payload -- further keys for the same write: the clock, with the last payload of this call

local function keep_payload(id, event, message)
    if event == '' then return call('MSET', D.message(id), message, with_payload()) end
    if message == '' then return call('MSET', D.event(id), event, with_payload()) end
    call('MSET', D.event(id), event, D.message(id), message, with_payload())
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

local function park(id, lane, band, action, user, gates, timeout_ms, due_ms, max_age_ms, event, message, lasting, parent, key)
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

once_if_memory('park', function(...)
    local given, replies = {...}, {}
    with_payload = function() end
    promote_due(200)
    if #given % ARGUMENTS_EACH == 1 then asked_by = table.remove(given) end
    for i = 1, #given, ARGUMENTS_EACH do
        if i + ARGUMENTS_EACH > #given then with_payload = clock.to_keep end
        replies[#replies + 1] = park(unpack(given, i, i + ARGUMENTS_EACH - 1))
    end
    return replies
end)
