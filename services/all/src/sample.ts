import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contracts } from '@commonplace/kit/contracts';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Host } from '@commonplace/kit/runtime';
import type { BootstrapResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { CreateResourceRequest, OnConflict } from '@commonplace/proto/resources/v1/resource_service.js';
import { CreateWorkspaceRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';

/** The project's root, three folders above the compiled file's package. */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

/** Fills a workspace with the project's own documentation, as its owner would. */
export async function fillSample(host: Host, { user }: BootstrapResponse): Promise<void> {
  if (user === undefined) return;
  const scopes = ['workspace:write', 'resource:write', 'content:write'];
  const acting = await host.client(contracts.auth).actAs({ userId: user.id, orgId: '', scopes }, host.systemCall());
  const call = (): CallOptions => {
    const { metadata, deadline } = host.systemCall();
    return { metadata: { ...metadata, token: acting.token }, deadline };
  };
  const workspace = await host.client(contracts.workspaces).createWorkspace(
    CreateWorkspaceRequest.fromPartial({
      name: 'Welcome to Commonplace',
      description: 'The documentation of this server. Change it, search it, delete it.',
    }),
    call(),
  );
  const resources = host.client(contracts.resources);
  const add = (type: ResourceType, name: string, parentId: string | undefined, content: string) =>
    resources.createResource(
      CreateResourceRequest.fromPartial({
        type,
        name,
        parentId,
        workspaceId: workspace.id,
        content: content === '' ? Buffer.alloc(0) : Buffer.from(JSON.stringify(content)),
        accessMode: AccessMode.INHERIT,
        onConflict: OnConflict.ERROR,
      }),
      call(),
    );
  // What is for those who use it and run it: what its developers decided would weigh in every search.
  for (const file of ['README.md', 'CHANGELOG.md']) {
    if (existsSync(join(ROOT, file))) await add(ResourceType.DOCUMENT, titleOf(file), undefined, read(file));
  }
  const docs = existsSync(join(ROOT, 'docs'))
    ? readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
    : [];
  if (docs.length === 0) return;
  const folder = await add(ResourceType.FOLDER, 'Docs', undefined, '');
  for (const name of docs) await add(ResourceType.DOCUMENT, titleOf(name), folder.id, read(join('docs', name)));
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** `README.md` → `Readme`. */
function titleOf(file: string): string {
  const words = file.replace(/\.md$/, '').replaceAll('-', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
