-- One call of the library. All its functions and tables are made once, when the server loads it; what belongs to one
-- call only is set anew when that begins, and not when it ends, so that one that failed leaves nothing to the next.
local call -- redis.call, which is there only during a call
local KEYS
local beginnings = {}

local function at_begin(set)
    beginnings[#beginnings + 1] = set
end

-- A table for this call: most of them stay empty, and an empty one need not be made again.
local function emptied(made)
    if made and next(made) == nil then return made end
    return {}
end

local function begin(keys)
    call, KEYS = redis.call, keys
    for i = 1, #beginnings do beginnings[i]() end
end
