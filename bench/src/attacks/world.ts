import { newKey, signUp } from '@commonplace/acceptance/dist/src/people.js';
import { createResource, type Made } from '../fill.js';
import { type Client, openClient } from '../http.js';

/** The facts that another process needs to work in a workspace. */
export interface PlaceFacts {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly workspaceId: string;
}

/** A workspace of an Org, and a client that works there. */
export interface Place {
  readonly client: Client;
  readonly workspaceId: string;
}

const CONNECTIONS = 32;

/** Creates an account with an Org and a workspace in the Org. Requires a system with open sign-up. */
export async function createPlace(baseUrl: string, name: string): Promise<PlaceFacts> {
  const person = await signUp({ baseUrl }, name);
  const { data: org } = await person.post<Made>('/orgs', { name });
  const { data: workspace } = await person.post<Made>('/workspaces', { name, org_id: org.id });
  const { data: all } = await person.get<{ scopes: string[] }>('/capabilities');
  const { key } = await newKey(person, all.scopes, { org_id: org.id });
  return { baseUrl, apiKey: key, workspaceId: workspace.id };
}

/** Opens a client of a workspace. */
export function openPlace({ baseUrl, apiKey, workspaceId }: PlaceFacts): Place {
  return { client: openClient(baseUrl, apiKey, CONNECTIONS), workspaceId };
}

export const createDocument = (client: Client, workspaceId: string, fields: object): Promise<string> =>
  createResource(client, { type: 'document', name: 'Page', workspace_id: workspaceId, ...fields });

/** Repeats a text up to a length of `bytes` characters. */
export const fill = (text: string, bytes: number): string =>
  text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);
