-- sign_in: keep a new session of a browser at the API.
-- Atomic: its code is used up, the session that it had before is ended, as are the oldest beyond the bound, and the
-- journal is told.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, session, whose, record, idle_ms, lasting_ms, most, code, before, by
--   caller number   the request token
--   session         the digest of its id
--   whose           of whose sessions there is a bound; without spaces
--   record          what the API knows of it
--   idle_ms         after which time without a request it ends
--   lasting_ms      after which time it ends in any case
--   most            how many there may be of the same `whose`
--   code            the digest of the one-time code that is given for it, '' for none
--   before          the digest of the session that the browser had, '' for none
--   by              who signs in, and from where
-- Returns: when it ends at the latest, unix ms, or 'NO_CODE' if there is no such code: nothing was changed
-- Uses: call, keys, now, sessions, transitions
local function end_excess(whose, most, by)
    local live = {}
    for _, each in ipairs(call('ZRANGE', D.sessions(whose), 0, -1)) do
        if call('EXISTS', D.session(each)) == 1 then
            live[#live + 1] = each
        else
            call('ZREM', D.sessions(whose), each)
        end
    end
    for i = 1, #live - most do sessions.stop(live[i], by) end
end

once_if_memory('sign_in', function(session, whose, record, idle_ms, lasting_ms, most, code, before, by)
    if code ~= '' and call('DEL', D.login(code)) == 0 then return 'NO_CODE' end
    if before ~= '' then sessions.stop(before, by) end
    idle_ms, lasting_ms = tonumber(idle_ms), tonumber(lasting_ms)
    local ends = string.format('%.0f', math.floor(now) + lasting_ms)
    call('SET', D.session(session), ends .. ' ' .. whose .. ' ' .. record, 'PX', math.min(idle_ms, lasting_ms))
    call('ZADD', D.sessions(whose), now, session)
    call('PEXPIRE', D.sessions(whose), lasting_ms)
    end_excess(whose, tonumber(most), by)
    sessions.note_session('sign_in', session, '', 'signed in', by)
    return ends
end)
