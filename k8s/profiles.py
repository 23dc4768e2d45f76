"""The Kubernetes settings of one execution: the general ones, overridden by the profile that it names. Pure.

In the flow: before the first step of the saga, and again where the manifest is made. An execution can name only
profiles that the settings list, and a profile may be restricted to certain actions.
"""

from ..configs.areas import KubernetesSettings
from ..scheduler.model.errors import shown
from .errors import PodRejected


def settings_of(settings: KubernetesSettings, profile: str | None, action: str) -> KubernetesSettings:
    """Override the settings by those of a profile.

    Args:
        settings: The settings of all executions.
        profile: The profile's name; None: no profile.
        action: The execution's action.

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
