import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallOptions } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import type { Host } from '@commonplace/platform/runtime';
import { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateResourceRequest, OnConflict } from '@commonplace/proto/resources/v1/resource_service.js';
import { CreateWorkspaceRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { linksIn, pathFrom, withResourceLinks } from './sample-links.js';

/** The project's root, four levels above the folder of the compiled file. */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

/** Contracts of other services that `fillSample` calls. */
export const SAMPLE_CALLS = [
  contracts.auth,
  contracts.content,
  contracts.files,
  contracts.resources,
  contracts.workspaces,
] as const;
type SampleHost = Host<(typeof SAMPLE_CALLS)[number]>;

/** Creates a workspace with the project's documentation, acting as its owner. */
export async function fillSample(host: SampleHost, { user }: BootstrapResponse): Promise<void> {
  if (user === undefined) return;
  const scopes = ['workspace:write', 'resource:write', 'content:write', 'file:write'];
  const request = {
    userId: user.id,
    orgId: '',
    scopes,
    agent: undefined,
    workspaceIds: [],
    automation: undefined,
    chain: [],
  };
  // Each call gets its own token, because a token lasts for half a minute and all calls together may take longer on a
  // busy machine.
  const call = async (): Promise<CallOptions> => {
    const { token } = await host.client(contracts.auth).actAs(request, host.systemCall());
    const { metadata, deadline } = host.systemCall();
    return { metadata: { ...metadata, token }, deadline };
  };
  const workspace = await host.client(contracts.workspaces).createWorkspace(
    CreateWorkspaceRequest.fromPartial({
      name: 'Welcome to Commonplace',
      description: 'The documentation of this server. Change it, search it, delete it.',
    }),
    await call(),
  );
  const resources = host.client(contracts.resources);
  const add = async (type: ResourceType, name: string, parentId: string | undefined) => {
    const { id } = await resources.createResource(
      CreateResourceRequest.fromPartial({
        type,
        name,
        parentId,
        workspaceId: workspace.id,
        content: Buffer.alloc(0),
        accessMode: AccessMode.INHERIT,
        onConflict: OnConflict.ERROR,
      }),
      await call(),
    );
    return id;
  };
  const ids = new Map<string, string>();
  const { pages, docs } = samplePages();
  for (const file of pages) ids.set(file, await add(ResourceType.DOCUMENT, titleOf(file), undefined));
  const folder = docs.length === 0 ? undefined : await add(ResourceType.FOLDER, 'Docs', undefined);
  for (const file of docs) ids.set(file, await add(ResourceType.DOCUMENT, titleOf(basename(file)), folder));
  // Links are written once all of their possible targets exist.
  for (const file of [...pages, ...docs]) {
    const resourceId = ids.get(file) ?? '';
    for (const picture of picturesIn(file, read(file))) {
      if (!ids.has(picture)) ids.set(picture, await addPicture(host, picture, resourceId, await call()));
    }
    const content = Buffer.from(JSON.stringify(withResourceLinks(file, read(file), ids)));
    await host
      .client(contracts.content)
      .replaceContent(ReplaceContentRequest.fromPartial({ resourceId, content }), await call());
  }
}

/** Returns the documentation files for those who use or run the server. */
function samplePages(): { readonly pages: readonly string[]; readonly docs: readonly string[] } {
  // The developers' documents are left out, since they would clutter every search.
  const pages = ['README.md', 'CHANGELOG.md'].filter((file) => existsSync(join(ROOT, file)));
  const docs = existsSync(join(ROOT, 'docs'))
    ? readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
    : [];
  return { pages, docs: docs.map((name) => `docs/${name}`) };
}

/** Returns the paths of the existing pictures that a file refers to. */
function picturesIn(file: string, text: string): string[] {
  return linksIn(text)
    .filter(({ isImage }) => isImage)
    .map(({ target }) => pathFrom(file, target).path)
    .filter((path) => existsSync(join(ROOT, path)));
}

async function addPicture(host: SampleHost, path: string, parentId: string, call: CallOptions): Promise<string> {
  const contentBase64 = readFileSync(join(ROOT, path)).toString('base64');
  const request = CreateFileRequest.fromPartial({ name: basename(path), parentId, contentBase64 });
  const { resource } = await host.client(contracts.files).createFile(request, call);
  if (resource === undefined) throw new Error(`${path} was not uploaded`);
  return resource.id;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Returns a title from a file name: `README.md` → `Readme`. */
function titleOf(file: string): string {
  const words = file.replace(/\.md$/, '').replaceAll('-', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
