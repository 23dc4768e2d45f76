-- Schedules, and how far each is planned. The hash `schedules` has two fields of each: NAME, `own|declared active|paused
-- allow|skip JSON`; and `NAME\n`: revision, cursor (each occurrence up to this unix ms is dealt with), how many were
-- skipped, what keeps it from being planned, the occurrences that are parked and not yet due (`ms/INSTANT`), and the ids of
-- those that were let go; `-` for none.
local schedules = {}
do
    local FORM = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$'

    local function words_of(text)
        local words = {}
        for word in string.gmatch(text, '[^,]+') do if word ~= '-' then words[#words + 1] = word end end
        return words
    end

    local function text_of(words)
        return words[1] and table.concat(words, ',') or '-'
    end

    -- Returns how far a schedule is planned; nil if there is none.
    function schedules.state(name)
        local found = call('HMGET', K.schedules, name, name .. '\n')
        if not found[1] then return nil end
        local revision, cursor, skipped, problem, planned, runs = string.match(found[2] or '', FORM)
        local kept, is_paused, overlap = string.match(found[1], '^(%l+) (%l+) (%l+) ')
        return {
            name = name, kept = kept, is_paused = is_paused == 'paused', skips = overlap == 'skip',
            revision = revision or '0', cursor = tonumber(cursor) or now, skipped = tonumber(skipped) or 0,
            problem = problem or '-', planned = words_of(planned or ''), runs = words_of(runs or ''),
        }
    end

    -- A change gives a revision that never was before, by which whoever plans notices it; a promotion is none.
    function schedules.keep(s, is_change)
        if is_change then s.revision = call('HINCRBY', K.schedules, '\n', 1) end
        local words = {s.revision, exact(s.cursor), s.skipped, s.problem, text_of(s.planned), text_of(s.runs)}
        call('HSET', K.schedules, s.name .. '\n', table.concat(words, ' '))
    end
end
