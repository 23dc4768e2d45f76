"""The settings of one execution: those of all, and over them what the profile says that it names. Pure.

In the flow: before the first step of the saga, and again where the manifest is made. Only profiles that the settings
list can be named, each by the actions that it allows.
"""

from ..configs.areas import KubernetesSettings
from ..scheduler.model.errors import shown
from .errors import PodRejected


def settings_of(settings: KubernetesSettings, profile: str | None, action: str) -> KubernetesSettings:
    """Put a profile over the settings.

    Args:
        settings: Those of all executions.
        profile: Its name; None: none.
        action: The execution's.

    Raises:
        PodRejected: If there is no such profile, or the action may not name it.
    """
    if profile is None:
        return settings
    found = settings.profiles.get(profile)
    if found is None:
        known = ", ".join(sorted(settings.profiles)) or "none"
        raise PodRejected(f"metadata.profile {shown(profile)} is not configured; there are: {known}")
    if found.actions and action not in found.actions:
        raise PodRejected(f"metadata.profile {shown(profile)} is not for action {shown(action)}")
    said = found.model_fields_set - {"actions"}
    return settings.model_copy(update={name: getattr(found, name) for name in said})
