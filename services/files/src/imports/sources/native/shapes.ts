import { isObject } from '@commonplace/kit/json';
import { refuseDeep } from '../common/deep.js';
import { type Bundle, ImportFault, type ItemKind } from '../port.js';

/** Holds what an import needs of `manifest.json`. */
export interface Manifest {
  readonly include: Readonly<Record<string, unknown>>;
  /** Settings of the workspace's publication, if it was published. */
  readonly publication: Readonly<Record<string, unknown>> | null;
}

/** Describes an actor in an archive. */
interface ArchivedActor {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly email?: string | undefined;
}

export interface ArchivedContent {
  readonly path?: string | null;
  readonly format?: string;
  readonly block_ids?: readonly string[] | null;
  readonly [field: string]: unknown;
}

/** Holds `resources/<id>.json`; fields that the import does not interpret are passed on unchanged. */
export interface ArchivedResource {
  readonly id: string;
  readonly type: ItemKind;
  readonly name: string;
  readonly parent_id: string | null;
  readonly position: string;
  readonly icon: string | null;
  readonly description: string | null;
  readonly access_mode: string;
  readonly is_locked: boolean;
  readonly external_id: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly tags: readonly string[];
  readonly created_by: ArchivedActor | null;
  readonly updated_by: ArchivedActor | null;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
  readonly content_version: number;
  readonly content: ArchivedContent | null;
  readonly comments: string | null;
  readonly snapshots: readonly string[];
  readonly permissions: readonly unknown[];
  readonly form: Readonly<Record<string, unknown>> | null;
  readonly publication: Readonly<Record<string, unknown>> | null;
}

/** Highest supported version of the format. */
const VERSION = 1;
const MANIFEST_BYTES = 64 * 1024 * 1024;
const RESOURCE_BYTES = 4 * 1024 * 1024;
const KINDS: readonly string[] = ['folder', 'document', 'table', 'artifact', 'file'];

/** Reads the manifest. Refuses archives of other software, of a later version, or not in the native format. */
export async function readManifest(bundle: Bundle): Promise<Manifest> {
  const isThere = bundle.entries.some(({ path }) => path === 'manifest.json');
  if (!isThere)
    throw new ImportFault('not_an_archive', 'The archive has no manifest.json: it is not a workspace archive.');
  const {
    format,
    format_version: version,
    content,
    include,
    workspace,
  } = await readObject(bundle, 'manifest.json', MANIFEST_BYTES);
  if (format !== 'commonplace-archive' || !Number.isSafeInteger(version)) {
    throw new ImportFault('not_an_archive', 'manifest.json is not that of a workspace archive.');
  }
  if (Number(version) > VERSION) {
    throw new ImportFault(
      'archive_version',
      `The archive has version ${version} of the format; at most ${VERSION} can be read.`,
    );
  }
  if (content !== 'native') {
    throw new ImportFault(
      'not_an_archive',
      `An archive of ${String(content)} cannot be imported as native_zip: import it as markdown_zip.`,
    );
  }
  const publication = isObject(workspace) && isObject(workspace.publication) ? workspace.publication : null;
  return { include: isObject(include) ? include : {}, publication };
}

/**
 * Reads the description of a resource; fields of a wrong type are replaced by defaults. Throws when id, name or type
 * are invalid.
 */
export async function readResource(bundle: Bundle, path: string): Promise<ArchivedResource> {
  const given = await readObject(bundle, path, RESOURCE_BYTES);
  const { id, type, name } = given;
  if (typeof id !== 'string' || path !== `resources/${id}.json` || typeof name !== 'string') {
    throw new ImportFault('item_invalid', `${path} does not describe the resource with that id.`);
  }
  if (!KINDS.includes(type as string)) throw new ImportFault('item_invalid', `${path} has an unknown type.`);
  return {
    id,
    type: type as ItemKind,
    name,
    parent_id: text(given.parent_id) ?? null,
    position: text(given.position) ?? '',
    icon: text(given.icon) ?? null,
    description: text(given.description) ?? null,
    access_mode: text(given.access_mode) ?? 'inherit',
    is_locked: given.is_locked === true,
    external_id: text(given.external_id) ?? null,
    metadata: isObject(given.metadata) ? given.metadata : null,
    tags: texts(given.tags),
    created_by: actor(given.created_by),
    updated_by: actor(given.updated_by),
    created_at: moment(given.created_at),
    updated_at: moment(given.updated_at),
    content_version: Number.isSafeInteger(given.content_version) ? Number(given.content_version) : 1,
    content: isObject(given.content) ? given.content : null,
    comments: text(given.comments) ?? null,
    snapshots: texts(given.snapshots),
    permissions: Array.isArray(given.permissions) ? given.permissions : [],
    form: isObject(given.form) ? given.form : null,
    publication: isObject(given.publication) ? given.publication : null,
  };
}

async function readObject(bundle: Bundle, path: string, limit: number): Promise<Record<string, unknown>> {
  const value = await readJson(bundle, path, limit);
  if (isObject(value)) return value as Record<string, unknown>;
  throw new ImportFault('item_invalid', `${path} is not an object.`);
}

/** Reads an entry that contains JSON. Throws an `ImportFault` when it does not. */
export async function readJson(bundle: Bundle, path: string, limit: number): Promise<unknown> {
  const text = (await bundle.read(path, limit)).toString('utf8');
  refuseDeep(text, path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ImportFault('item_invalid', `${path} is not JSON.`, false, { cause });
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function moment(value: unknown): string | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

function actor(value: unknown): ArchivedActor | null {
  if (!isObject(value)) return null;
  const { type, id, name, email } = value;
  return { type: text(type) ?? 'user', id: text(id) ?? '', name: text(name) ?? '', email: text(email) };
}
