-- sign_out: end a session of a browser at the API.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: session, by
--   session   the digest of its id
--   by        who signs out, and from where
-- Returns: 1 if there was one, else 0
-- Uses: sessions, transitions
transition('sign_out', function(session, by)
    return sessions.stop(session, by)
end)
