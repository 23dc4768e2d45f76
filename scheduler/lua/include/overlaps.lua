-- Whether an occurrence that is due is left out, since an earlier one lives; for that, those that were let go are known.
local overlaps = {}
do
    local MOST_RUNS = 20 -- so many that were let go are known
    local MOST_LIVING = 100 -- or so many, if they live

    local function lives(id)
        return LIVING[call('HGET', D.meta(id), 'state') or '']
    end

    -- Whether an earlier occurrence waits or runs still.
    local function is_kept_out(s)
        local runs = {}
        for _, id in ipairs(s.runs) do
            if lives(id) then runs[#runs + 1] = id end
        end
        s.runs = runs
        return runs[1] ~= nil
    end

    -- Those that have ended make room, the oldest first: one that lives keeps others out.
    local function make_room(s)
        local i = 1
        while #s.runs >= MOST_RUNS and s.runs[i] do
            if lives(s.runs[i]) then i = i + 1 else table.remove(s.runs, i) end
        end
        if #s.runs >= MOST_LIVING then table.remove(s.runs, 1) end
    end

    function overlaps.let_go(s, id)
        if s.runs[#s.runs] == id then return end
        make_room(s)
        s.runs[#s.runs + 1] = id
    end

    -- It was refused after all.
    function overlaps.hold(s, id) if s.runs[#s.runs] == id then table.remove(s.runs) end end

    -- Whether one that is due now is to be left out; if not, it is let go.
    function overlaps.skips(s, id)
        if s.skips and is_kept_out(s) then
            s.skipped = s.skipped + 1
            return true
        end
        overlaps.let_go(s, id)
        return false
    end
end
