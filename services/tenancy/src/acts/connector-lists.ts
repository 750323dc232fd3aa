import { isWithinTimes, pageOfAll, parsePageRequest, type Sort, sortsBy } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import {
  ConnectionStatus,
  ConnectorStatus,
  ConnectorType,
  type ListConnectionsRequest,
  type ListConnectionsResponse,
  type ListConnectorsRequest,
  type ListConnectorsResponse,
} from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { Parts } from '../parts.js';
import type { Connection, Connector } from '../stores/connectors.js';
import { toConnection, toConnector } from '../wire/connector.js';

type NamedConnector = Connector & { readonly nameFold: string };

const SORTS = sortsBy<NamedConnector>({ name: 'nameFold', created_at: 'createdAt' });

/** Returns a page of a workspace's connectors, which are few. */
export async function listConnectors(
  { connectors }: Parts,
  request: ListConnectorsRequest,
): Promise<ListConnectorsResponse> {
  const { type, status, q, createdBy } = request;
  const wanted = (await connectors.ofWorkspace(request.workspaceId))
    .map((one) => ({ ...one, nameFold: foldName(one.name) }))
    .filter((one) => one.nameFold.includes(foldName(q)) && isWithinTimes(one, request))
    .filter((one) => createdBy === undefined || [one.createdBy.id, one.createdForId].includes(createdBy))
    .filter((one) => {
      const shown = toConnector(one, 0);
      const isOfType = type === ConnectorType.UNSPECIFIED || shown.type === type;
      return isOfType && (status === ConnectorStatus.UNSPECIFIED || shown.status === status);
    });
  const { items, page } = pageOfAll(parsePageRequest(request.page), wanted, SORTS[request.sort] ?? ['createdAt']);
  const counts = await connectors.countConnections(items.map(({ id }) => id));
  return { items: items.map((one) => toConnector(one, counts.get(one.id) ?? 0)), page };
}

/** Returns a page of the connections in a workspace: those of one person, or all. */
export async function listConnections(
  { connectors, now }: Parts,
  request: ListConnectionsRequest,
  userId: string | undefined,
): Promise<ListConnectionsResponse> {
  const { connectorId, status } = request;
  const wanted = (await connectors.connectionsIn(request.workspaceId, userId)).filter(
    (one) =>
      (connectorId === undefined || one.connectorId === connectorId) &&
      (status === ConnectionStatus.UNSPECIFIED || toConnection(one, now()).status === status) &&
      isWithinTimes(one, request),
  );
  const sort: Sort<Connection> = request.sort === '-created_at' ? ['-createdAt'] : ['createdAt'];
  const { items, page } = pageOfAll(parsePageRequest(request.page), wanted, sort);
  return { items: items.map((one) => toConnection(one, now())), page };
}
