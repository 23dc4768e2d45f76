-- Sessions of browsers at the API. A session's value is when it ends at the latest, whose it is, and what the API knows
-- of it, with spaces between them; its TTL is how long it may be idle. The journal is told, and not the stream of the
-- latest changes, from which people who sign in would drive out the others.
local sessions
do
    local NAME_LENGTH = 12 -- as much of a digest names a session in the journal

    local function note_session(verb, session, from, to, by)
        append('verb', verb, 'id', '', 'at', now, 'name', 'session:' .. string.sub(session, 1, NAME_LENGTH),
            'from', from, 'to', to, 'by', by)
    end

    -- Returns 1 if there was one.
    local function stop(session, by)
        local value = call('GET', D.session(session))
        if not value then return 0 end
        call('DEL', D.session(session))
        call('ZREM', D.sessions(string.match(value, '^%S+ (%S+)')), session)
        note_session('sign_out', session, 'signed in', '', by)
        return 1
    end

    sessions = {note_session = note_session, stop = stop}
end
