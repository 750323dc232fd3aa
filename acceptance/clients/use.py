"""Uses the generated Python client: `python3 use.py BASE_URL API_KEY`."""

import importlib
import pkgutil
import sys
from uuid import uuid4

import commonplace_client
from commonplace_client import AuthenticatedClient
from commonplace_client.api.resource import create_resource, get_resource
from commonplace_client.api.workspace import create_workspace, list_workspaces
from commonplace_client.models import (
    CreateResourceRequest,
    CreateWorkspaceRequest,
    ListWorkspacesResponse200,
    ResourceType,
)

for module in pkgutil.walk_packages(commonplace_client.__path__, "commonplace_client."):
    importlib.import_module(module.name)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])

made = create_workspace.sync(client=client, body=CreateWorkspaceRequest(name="Generated"))
listed = list_workspaces.sync(client=client)
assert isinstance(listed, ListWorkspacesResponse200), listed
assert made.data.id in [workspace.id for workspace in listed.data.items], listed
assert listed.page.limit == 50, listed.page

document = CreateResourceRequest(
    type_=ResourceType.DOCUMENT, name="Weir", workspace_id=made.data.id, content="# Weir"
)
created = create_resource.sync(client=client, body=document)
assert created.data.name == "Weir", created

refused = get_resource.sync_detailed(client=client, resource_id=uuid4())
assert refused.status_code == 404, refused
assert refused.parsed.error.code == "not_found", refused.parsed
