-- trim: drop the journal's oldest entries, which the ledger has.
-- Atomic; repeating it does no harm, nor does one whose reply was lost. Another journal than the one that was read is left alone.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: incarnation, before, least
--   incarnation  the name of the journal that was read
--   before       the id of an entry: what is older may go
--   least        so many of the latest stay in any case
-- Returns: how many were dropped: whole nodes only, and some ten thousand at most, so that no call blocks the server for long
-- Uses: call, keys, transitions
transition('trim', function(incarnation, before, least)
    if call('GET', K.incarnation) ~= incarnation then return 0 end
    local over = call('XLEN', K.journal) - tonumber(least)
    if over <= 0 then return 0 end
    return call('XTRIM', K.journal, 'MINID', '~', before, 'LIMIT', math.min(over, 10000))
end)
