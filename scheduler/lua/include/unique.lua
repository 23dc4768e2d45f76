-- Unique keys: one execution at a time may have a key, so that work is not queued twice. `unique:{key}` names the execution
-- that took it last. Whether that one keeps others out follows from its own state, so admission and retries write nothing
-- here, and a key whose execution is gone (evicted, deleted by hand) is free. One that waits again after a retry has its
-- key again, unless another took it meanwhile. A key that is taken for some time is kept for that time, whatever happens.
local unique
do
    -- Returns the execution that took the key last, and until when in ms, '' if not for some time. Data of another type
    -- is no reason to refuse an execution, or to keep a slot: the next taker overwrites it.
    local function taken_by(key)
        local is_read, taken = pcall(call, 'GET', D.unique(key))
        return string.match(is_read and taken or '', '^(%S+) ?(%d*)$')
    end

    -- Reads park's argument: nil if there is no key.
    local function read(argument)
        local scope, conflict, key = string.match(argument, '^(%w+) (%l+) (.+)$')
        return key and {scope = scope, ms = tonumber(scope), replaces = conflict == 'replace', key = key}
    end

    -- Returns the record of the execution that keeps others out, with its id and whether it `waits`; nil if none does.
    local function holder(key)
        local id, ends = taken_by(key)
        if not id then return nil end
        local m = load(id) or load_tombstone(id) or {state = ''}
        m.id, m.waits = id, m.state == 'SCHEDULED' or m.state == 'PENDING'
        if ends ~= '' then return now < tonumber(ends) and m or nil end
        local keeps = (m.unique == 'started ' .. key and m.waits) or (m.unique == 'ended ' .. key and LIVING[m.state])
        if not keeps or (m.state == 'PENDING' and deadline.why_stale(m)) then return nil end
        return m
    end

    -- Returns the field of its record, if it needs one.
    local function take(id, wanted)
        if wanted.ms then
            call('SET', D.unique(wanted.key), string.format('%s %d', id, now + wanted.ms), 'PX', wanted.scope)
            return nil
        end
        call('SET', D.unique(wanted.key), id)
        return wanted.scope .. ' ' .. wanted.key
    end

    -- The execution ends.
    local function release(id, m)
        local had = m.unique
        if had == nil and not m.accepted_at then had = field(id, 'unique') end -- else all fields were read
        local key = had and string.match(had, '^%l+ (.+)$')
        if key and taken_by(key) == id then call('DEL', D.unique(key)) end
    end

    unique = {read = read, holder = holder, take = take, release = release}
end
