"""Makes all of Bandmaster's calls to the API server, in one namespace: the only module that imports ``kubernetes``.

In the flow: every other file of this folder talks to the cluster through a ``ClusterApi``, which returns typed objects
and raises one kind of error. Each call has a timeout for connecting and one for every read. Nothing is retried in here
(the library's own retries are turned off), since only the caller knows whether a retry does harm. Configured at first
use, from the named kubeconfig, else the pod's service account, else the kubeconfig that ``kubectl`` would take. If the
process dies during a call, the server may still carry it out; the callers handle that.
"""

import contextlib
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import urllib3.exceptions
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from pydantic import ValidationError

from ...configs.areas import KubernetesSettings
from .bytestream import ByteStream, lost
from .clock import ClusterClock
from .faults import ApiError, Fault, api_error
from .labels import CONTAINER
from .objects import Bare, BareList, Pod, PodList, PodNews, PodNewsList, Wire

T = TypeVar("T", bound=Wire)
Body = Mapping[str, Any]
Operation = Mapping[str, str]
"""An operation of a JSON Patch (RFC 6902)."""

CONNECT_SECONDS: Final = 3.0
PAGE_SIZE: Final = 500
#: The size of the connection pool that worker threads, watches and log readers of one process share.
_CONNECTIONS: Final = 64
_JSON: Final = "application/json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_OPERATIONS: Final = "application/json-patch+json"
_METADATA_ONLY: Final = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
_NEVER_SENT: Final = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.LocationValueError,
)


class ClusterApi:
    """One namespace of one cluster. Safe to share between threads; nothing is connected before the first call."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self.namespace = settings.namespace
        self._settings = settings
        self.request_timeout_seconds = float(settings.request_timeout_seconds)
        self._timeouts = (CONNECT_SECONDS, self.request_timeout_seconds)
        self._lock = threading.Lock()
        self._connection: Any = None
        self.clock: Final = ClusterClock()

    def create_pod(self, body: Body) -> Pod:
        """Create a pod. CONFLICT: its name is taken."""
        return self._parsed(Pod, self._post, resource="pods", body=body)

    def get_pod(self, name: str) -> Pod | None:
        """Read a pod. None: there is none."""
        with _absent_is_none():
            return self._parsed(Pod, self._core.read_namespaced_pod, name=name)
        return None

    def list_pods(self, selector: str, heard: Callable[[], None] = lambda: None) -> tuple[list[Pod], str]:
        """Read all pods with these labels, and the version from which a watch can continue.

        Args:
            selector: The labels.
            heard: Called after each page: a long list takes long, though the server is not silent.
        """
        pods: list[Pod] = []
        page = ""
        while True:
            found = self._parsed(
                PodList, self._core.list_namespaced_pod, label_selector=selector, limit=PAGE_SIZE, _continue=page
            )
            pods.extend(found.items or ())
            heard()
            page = found.metadata.continue_
            if not page:
                return pods, found.metadata.resource_version

    def watch_pods(self, selector: str, version: str, seconds: int, *, slack_seconds: float) -> ByteStream:
        """Watch the pods: one JSON object a line, until the server ends the watch after so many seconds.

        Args:
            selector: Their labels.
            version: The version after which to begin.
            seconds: When the server ends the watch.
            slack_seconds: If the answer lasts so much longer, the connection counts as half-open.
        """
        return self._stream(
            self._core.list_namespaced_pod,
            idle_seconds=seconds + slack_seconds,
            label_selector=selector,
            resource_version=version,
            watch=True,
            allow_watch_bookmarks=True,
            timeout_seconds=seconds,
        )

    def patch_pod(self, name: str, change: Body | list[Operation]) -> Pod | None:
        """Patch a pod. None: there is none.

        Args:
            name: The pod.
            change: A body to merge (CONFLICT if it names another UID), or operations (REJECTED if a test fails).
        """
        kind, body = (_OPERATIONS, change) if isinstance(change, list) else (_STRATEGIC, dict(change))
        with _absent_is_none():
            return self._parsed(Pod, self._core.patch_namespaced_pod, name=name, body=body, _content_type=kind)
        return None

    def delete_pod(self, name: str, uid: str | None) -> bool:
        """Request a pod's deletion; with a UID, only of that pod (else CONFLICT). False: there is none."""
        options: dict[str, Any] = {} if uid is None else {"preconditions": {"uid": uid}}
        with _absent_is_none():
            self._bytes(self._core.delete_namespaced_pod, name=name, body=options)
            return True
        return False

    def pods_metadata(self, selector: str) -> list[Bare]:
        """Read the metadata of all pods with these labels."""
        return self._metadata(self._core.list_namespaced_pod, selector)

    def pod_news(self, uid: str) -> list[PodNews]:
        """Read the events about a pod, the oldest first. DENIED: this program may not read them."""
        found = self._parsed(
            PodNewsList, self._core.list_namespaced_event, field_selector=f"involvedObject.uid={uid}", limit=PAGE_SIZE
        )
        return sorted(found.items or (), key=lambda each: each.at)

    def create_beside(self, resource: str, body: Body) -> None:
        """Create what a pod needs: one of `configmaps` or of `secrets`. CONFLICT: its name is taken."""
        self._bytes(self._post, resource=resource, body=body)

    def config_maps_metadata(self, selector: str) -> list[Bare]:
        """Read the metadata of all ConfigMaps with these labels, without their data."""
        return self._metadata(self._core.list_namespaced_config_map, selector)

    def delete_config_map(self, name: str, uid: str | None = None) -> bool:
        """Delete a ConfigMap; with a UID, only that one (else CONFLICT). False: there is none."""
        body: dict[str, Any] = {} if uid is None else {"preconditions": {"uid": uid}}
        with _absent_is_none():
            self._bytes(self._core.delete_namespaced_config_map, name=name, body=body)
            return True
        return False

    def read_log(
        self, name: str, *, follow: bool = False, tail_lines: int | None = None, idle_seconds: float | None = None
    ) -> ByteStream:
        """Read a pod's log; REJECTED: its container has not started yet, or has no log (any more).

        DENIED: this program may not read it.
        """
        options = {} if tail_lines is None else {"tail_lines": tail_lines}
        return self._stream(
            self._core.read_namespaced_pod_log,
            idle_seconds=idle_seconds,
            name=name,
            container=CONTAINER,
            follow=follow,
            **options,
        )

    def probe(self) -> None:
        """Check that pods of the namespace can be listed."""
        self._bytes(self._core.list_namespaced_pod, limit=1)

    def server(self) -> str:
        """The API server's address, without any user or password."""
        address = urlsplit(str(self._core.api_client.configuration.host))
        return f"{address.scheme}://{address.hostname}" + (f":{address.port}" if address.port else "")

    def _metadata(self, method: Callable[..., Any], selector: str) -> list[Bare]:
        found: list[Bare] = []
        page = ""
        while True:
            headers = dict(_METADATA_ONLY)
            part = self._parsed(
                BareList, method, label_selector=selector, limit=PAGE_SIZE, _continue=page, _headers=headers
            )
            found.extend(part.items or ())
            page = part.metadata.continue_
            if not page:
                return found

    def _post(
        self,
        *,
        namespace: str,
        resource: str,
        body: Body,
        _preload_content: bool,
        _request_timeout: tuple[float, float],
    ) -> Any:
        """Send an object as it is, with the arguments of the library's own methods.

        Those would first parse the object into a model and then serialize the model again. That costs a worker that
        creates pods a fourth of its time, and the object is valid JSON of the API already.
        """
        api = self._core.api_client
        request = api.param_serialize(
            method="POST",
            resource_path=f"/api/v1/namespaces/{{namespace}}/{resource}",
            path_params={"namespace": namespace},
            query_params=[],
            header_params={"Accept": _JSON, "Content-Type": _JSON},
            body=dict(body),
            auth_settings=["BearerToken"],
        )
        answer = api.call_api(*request, _request_timeout=_request_timeout)
        if not 200 <= answer.status <= 299:
            answer.read()
            raise ApiException.from_response(http_resp=answer, body=None, data=None)
        return answer.response

    def _stream(self, method: Callable[..., Any], *, idle_seconds: float | None, **arguments: Any) -> ByteStream:
        return ByteStream(self._open(method, idle_seconds, arguments))

    def _parsed(self, kind: type[T], method: Callable[..., Any], **arguments: Any) -> T:
        answer = self._bytes(method, **arguments)
        try:
            return kind.model_validate_json(answer)
        except ValidationError as error:
            raise ApiError(Fault.FAILED, f"the API server's answer is no {kind.__name__}: {error}") from error

    def _bytes(self, method: Callable[..., Any], **arguments: Any) -> bytes:
        response = self._open(method, None, arguments)
        try:
            return response.data
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise lost(error) from error
        finally:
            response.release_conn()

    def _open(self, method: Callable[..., Any], idle_seconds: float | None, arguments: dict[str, Any]) -> Any:
        timeouts = self._timeouts if idle_seconds is None else (CONNECT_SECONDS, idle_seconds)
        try:
            answer = method(namespace=self.namespace, _preload_content=False, _request_timeout=timeouts, **arguments)
        except ApiException as error:
            raise _answered(error) from error
        except ValidationError as error:
            raise ApiError(Fault.REJECTED, f"the client refuses the request: {error}") from error
        except _NEVER_SENT as error:
            raise ApiError(Fault.UNREACHABLE, f"the API server cannot be reached: {error}") from error
        except config.ConfigException as error:
            raise ApiError(Fault.DENIED, f"the credentials cannot be renewed: {error}") from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise lost(error) from error
        self.clock.note(answer.headers.get("Date"))
        return answer

    @property
    def _core(self) -> Any:
        with self._lock:
            if self._connection is None:
                self._connection = client.CoreV1Api(client.ApiClient(_configuration(self._settings)))
            return self._connection


def _configuration(settings: KubernetesSettings) -> client.Configuration:
    found = client.Configuration()
    try:
        if settings.kubeconfig or settings.context:
            config.load_kube_config(settings.kubeconfig or None, settings.context or None, found)
        else:
            try:
                config.load_incluster_config(found)
            except config.ConfigException:
                config.load_kube_config(client_configuration=found)
    except (config.ConfigException, OSError, ValueError) as error:
        raise ApiError(Fault.DENIED, f"no access to a cluster is configured: {error}") from error
    found.retries = False  # pyright: ignore[reportAttributeAccessIssue] # meant: none; urllib3 takes False
    found.keep_alive = True
    found.connection_pool_maxsize = _CONNECTIONS
    return found


@contextlib.contextmanager
def _absent_is_none() -> Generator[None]:
    try:
        yield
    except ApiError as error:
        if error.fault is not Fault.NOT_FOUND:
            raise


def _answered(error: Any) -> ApiError:
    if not error.status:  # no answer at all
        return ApiError(Fault.SILENT, f"TLS with the API server failed: {error.reason}")
    return api_error(int(error.status), (error.body or "").encode(), dict(error.headers or {}))
