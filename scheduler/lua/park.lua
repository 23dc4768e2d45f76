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
-- Uses: scores, changes, promoting, parking, transitions
once_if_memory('park', function(...)
    local given, replies, each = {...}, {}, parking.ARGUMENTS_EACH
    promote_due(200)
    if #given % each == 1 then asked_by = table.remove(given) end
    for i = 1, #given, each do
        if i + each > #given then parking.with_payload = clock.to_keep end
        replies[#replies + 1] = parking.park(unpack(given, i, i + each - 1))
    end
    return replies
end)
