-- drop: forget a dead letter: its event and message are deleted, its meta gets its TTL.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: id
-- Returns: 1 if it was a dead letter, else 0
transition('drop', function(id)
    if call('ZREM', K.dead, id) == 0 then return 0 end
    call('DEL', D.event(id), D.message(id))
    call('EXPIRE', D.meta(id), setting('meta_ttl_seconds'))
    local m = load(id)
    if m then journal('drop', id, m, 'state', m.state) end
    return 1
end)
