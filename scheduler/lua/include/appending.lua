-- Appends to the journal, and keeps it below its bound in bytes: of a full one the oldest entries are dropped, unread or not.
-- Asking what it takes costs more than an entry, so it is asked once for so many: the bound is exceeded by at most these.
local append
do
    local LOOK_EACH = 500
    local FULL_TO = 0.9 -- of the bound stay, so that not each look drops something
    local appended = {} -- by journal, since the last look; a server that starts looks at once

    local function keep_bound()
        local most = setting('journal_max_bytes')
        local used = call('MEMORY', 'USAGE', K.journal)
        if used <= most then return end
        -- Redis drops whole nodes and at most some ten thousand entries a command, so one that is far too long shrinks look by look.
        call('XTRIM', K.journal, 'MAXLEN', '~', math.floor(call('XLEN', K.journal) * FULL_TO * most / used))
    end

    -- Returns the entry's id.
    append = function(...)
        local entry_id = call('XADD', K.journal, '*', ...)
        local count = (appended[K.journal] or LOOK_EACH) + 1
        appended[K.journal] = count < LOOK_EACH and count or 0
        if count >= LOOK_EACH then keep_bound() end
        return entry_id
    end
end
