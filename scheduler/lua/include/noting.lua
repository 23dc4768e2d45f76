-- When something of a lane last happened, in the hash `rounds`: `used:LANE`, it was sent to; `lane:LANE`, workers asked
-- for it; `moved:LANE`, one of its slots was taken or given back.
local note
do
    local kept -- field → when it was written, under the present `noted`: most calls need not write again
    local kept_then
    at_begin(function()
        if not noted or noted ~= kept_then then kept_then, kept = noted, {} end
    end)

    -- Writes the time into a field, at most once a second. Returns whether it did.
    function note(field)
        if kept[field] and math.abs(now - kept[field]) < NOTED_EACH_MS then return false end
        kept[field] = now
        call('HSET', K.rounds, field, now)
        return true
    end
end
