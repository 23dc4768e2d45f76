-- set: change one runtime setting for every process at once (D14), or a bound of one lane; lanes that gain room are woken.
-- Atomic; repeating it does no harm, so it takes no request token.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: lane, name, value, only_if_unset, by, expected
--   lane            the lane of a bound; '' for a setting that is no lane's
--   value           a number, '' for the default
--   only_if_unset   1: a configured value seeds the hash, but an operator's later change survives restarts
--   by              the operator who asks; there is none if a process seeds it
--   expected        change it only while this is the value in force ('none' for no bound); '' for whatever it is
-- Returns: {code, value}; code OK | CHANGED (it is not the expected one) | UNKNOWN (no such setting, or no bound of a
--   lane); value is the one in force, as a string, '' for none
-- Uses: setting_defaults, settings, scores, journal, changes, changed, lanes, deadlines, transitions
local function in_force(lane, name)
    local value
    if BOUNDS[name] then value = bound_of(lane, name) else value = setting(name) end
    return value and exact(value) or ''
end

transition('set', function(lane, name, value, only_if_unset, by, expected)
    local is_bound = BOUNDS[name]
    if DEFAULTS[name] == nil or (lane ~= '') ~= (is_bound or false) then return {'UNKNOWN', ''} end
    local field = is_bound and field_of(lane, name) or name
    local from = in_force(lane, name)
    if expected ~= '' and expected ~= (from == '' and 'none' or from) then return {'CHANGED', from} end
    if value == '' then
        keep_setting(field)
    elseif only_if_unset ~= '1' or not overrides[field] then
        keep_setting(field, value)
    end
    local value_now = in_force(lane, name)
    if only_if_unset ~= '1' then note_change('set', field, from, value_now, by) end
    if value_now == from then return {'OK', value_now} end -- so that starting processes set their bounds cheaply
    if name == 'stale_timeout_seconds' or name == 'ageing_seconds' then keep_setting(deadline.reindexing_field(lane), '-inf') end
    if is_bound then changed.touched[lane] = true end
    if name == 'max_concurrent' then wake_best() end
    return {'OK', value_now}
end)
