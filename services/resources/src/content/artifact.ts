import { createHash } from 'node:crypto';
import { type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { ArtifactType, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { MAX_ARTIFACT_BYTES } from '../config.js';
import type { Node } from '../domain/node.js';
import type { Tree } from '../nodes/tree.js';
import type { Policy } from '../policy.js';
import { type ArtifactFields, artifactFields } from './artifact-fields.js';
import type { Keeper } from './kept.js';
import type { ContentInput, ContentKind, Holder, KeptContent, Payload, PreparedWrite } from './kind.js';
import { NO_WRITE } from './kind.js';

/** An artifact's stored content. Its id is the id of its node. */
interface StoredArtifact extends StoredRecord, ArtifactFields {
  readonly tenant: string;
}

export const artifactCollection: CollectionSpec<StoredArtifact> = { name: 'artifacts', indexes: [] };

interface ArtifactParts {
  readonly artifacts: Collection<StoredArtifact>;
  readonly keeper: Keeper;
  readonly tree: Tree;
  readonly policy: Policy;
}

const EMPTY: ArtifactFields = { type: ArtifactType.CODE, source: '', assets: [] };

/** Creates the content kind of artifacts: a source to be rendered or shown, with the files that it uses. */
export function createArtifactKind(parts: ArtifactParts): ContentKind {
  const { artifacts, keeper } = parts;

  async function fieldsOf(node: Pick<Node, 'id'>, { work }: Pick<CallContext, 'work'>): Promise<ArtifactFields> {
    return (await work.get(artifacts, node.id)) ?? EMPTY;
  }

  async function kept(snapshotId: string, { work }: CallContext): Promise<ArtifactFields> {
    const fields = await keeper.read(snapshotId, work);
    if (fields === undefined) throw new Error(`no content is stored for snapshot ${snapshotId}`);
    return fields as ArtifactFields;
  }

  async function replacing(node: Holder, fields: ArtifactFields, context: CallContext): Promise<PreparedWrite> {
    const before = await context.work.get(artifacts, node.id);
    return {
      changed: before === undefined || !areEqual(before, fields),
      sizeBytes: Buffer.byteLength(fields.source),
      warnings: [],
      loses: false,
      apply() {
        const record = { ...bare(fields), id: node.id, tenant: node.tenant };
        if (before === undefined) context.work.insert(artifacts, record);
        else context.work.replace(artifacts, before, record);
      },
      answer: async () => payloadOf(fields),
    };
  }

  /** Reads fields and keeps them under a snapshot's id. Each step takes milliseconds for a source of 2 MB. */
  async function keep(
    node: Holder,
    snapshotId: string,
    read: () => Promise<ArtifactFields>,
    { work, signal }: CallContext,
  ): Promise<KeptContent> {
    const breathe = createBreathe(signal);
    const fields = await read();
    await breathe();
    const text = textOf(fields);
    await breathe();
    const hash = createHash('sha256').update(text).digest('hex');
    await breathe();
    const kept = { sizeBytes: Buffer.byteLength(fields.source), hash };
    await keeper.keep(node, snapshotId, bare(fields), kept, work);
    return kept;
  }

  return {
    async create(holder, input, context) {
      if (!bringsContent(input)) return NO_WRITE;
      return replacing(holder, await checked(parts, input, EMPTY, context), context);
    },
    read: async (node, _query, context) => payloadOf(await fieldsOf(node, context)),
    write: async (node, input, context) =>
      replacing(node, await checked(parts, input, await fieldsOf(node, context), context), context),
    keep: (node, snapshotId, context) => keep(node, snapshotId, () => fieldsOf(node, context), context),
    restoreInput: async (holder, input, context) => replacing(holder, await sound(input, EMPTY), context),
    keepInput: (node, snapshotId, input, context) => keep(node, snapshotId, () => sound(input, EMPTY), context),
    readKept: async (_node, snapshotId, _query, context) => payloadOf(await kept(snapshotId, context)),
    restore: async (node, snapshotId, context) => replacing(node, await kept(snapshotId, context), context),
    forget: (_node, snapshotId, { work }) => keeper.forget(snapshotId, work),
    async copy(from, to, context, renamed = () => undefined) {
      const fields = await context.work.get(artifacts, from.id);
      if (fields === undefined) return NO_WRITE;
      const assets = fields.assets.map((asset) => ({
        ...asset,
        resourceId: renamed(asset.resourceId) ?? asset.resourceId,
      }));
      return replacing(to, { ...fields, assets }, context);
    },
    async remove(node, { work }) {
      const record = await work.get(artifacts, node.id);
      if (record !== undefined) work.remove(artifacts, record);
    },
    text: async (node) => searchText(await artifacts.get(node.id)),
    async texts(nodes) {
      const found = await artifacts.getMany(nodes.map(({ id }) => id));
      return new Map(found.map((one) => [one.id, searchText(one)]));
    },
  };
}

function bringsContent({ content, source }: ContentInput): boolean {
  return content.length > 0 || source !== undefined;
}

/** Picks the artifact's fields alone, so that no stored properties of one record get into another. */
function bare({ type, language, source, title, entry, assets }: ArtifactFields): ArtifactFields {
  return { type, language, source, title, entry, assets };
}

/** Serialises the fields so that equal artifacts give equal text. */
function textOf(fields: ArtifactFields): string {
  const { type, language, source, title, entry, assets } = fields;
  return JSON.stringify([type, language, source, title, entry, assets.map((one) => [one.name, one.resourceId])]);
}

/** Compares sources as they are: to serialise two of 2 MB takes 20 ms. */
function areEqual(one: ArtifactFields, other: ArtifactFields): boolean {
  return one.source === other.source && textOf({ ...one, source: '' }) === textOf({ ...other, source: '' });
}

function searchText(fields: ArtifactFields | undefined): string {
  if (fields === undefined) return '';
  return fields.title === undefined ? fields.source : `${fields.title}\n\n${fields.source}`;
}

function payloadOf({ type, language, source, title, entry, assets }: ArtifactFields): Payload {
  const format = ContentFormat.ARTIFACT;
  return { format, artifactType: type, language, source, title, entry, assets: assets.map((asset) => ({ ...asset })) };
}

/** Parses and validates the fields that an archive brings. Does not check the assets that they refer to. */
async function sound(input: ContentInput, before: ArtifactFields): Promise<ArtifactFields> {
  const { fields, faults, prefix } = await artifactFields(input, before.type, createBreathe());
  if (Buffer.byteLength(fields.source) > MAX_ARTIFACT_BYTES) faults.push(tooLarge(prefix));
  if (faults.length > 0) throw invalidFields(faults);
  return fields;
}

function tooLarge(prefix: string): Fault {
  const message = `A source may have at most ${MAX_ARTIFACT_BYTES} bytes.`;
  return { param: `${prefix}source`, code: 'payload_too_large', message };
}

/** Parses and validates the fields of a write. Throws one error with all faults. */
async function checked(
  parts: ArtifactParts,
  input: ContentInput,
  before: ArtifactFields,
  context: CallContext,
): Promise<ArtifactFields> {
  const { fields, faults, prefix } = await artifactFields(input, before.type, createBreathe(context.signal));
  if (Buffer.byteLength(fields.source) > MAX_ARTIFACT_BYTES) faults.push(tooLarge(prefix));
  faults.push(...(await assetFaults(parts, fields.assets, prefix, context)));
  if (faults.length > 0) throw invalidFields(faults);
  return fields;
}

/** Returns a fault for each asset whose name is not unique or whose resource the caller may not read. */
async function assetFaults(
  { tree, policy }: ArtifactParts,
  assets: ArtifactFields['assets'],
  prefix: string,
  context: CallContext,
): Promise<Fault[]> {
  if (assets.length === 0) return [];
  const nodes = await tree.getMany([...new Set(assets.map(({ resourceId }) => resourceId))]);
  const access = await policy.accessToAll(nodes, await policy.subject(context));
  const live = nodes.filter((node, i) => access[i] !== undefined && node.state === 'active');
  const readable = new Set(live.map(({ id }) => id));
  const names = new Set<string>();
  const faults: Fault[] = [];
  for (const [i, { name, resourceId }] of assets.entries()) {
    if (names.has(name)) {
      const message = `Two assets have the name ${name}.`;
      faults.push({ param: `${prefix}assets[${i}].name`, code: 'invalid_value', message });
    }
    names.add(name);
    if (readable.has(resourceId)) continue;
    const message = 'The resource does not exist, or you may not see it.';
    faults.push({ param: `${prefix}assets[${i}].resource_id`, code: 'invalid_value', message });
  }
  return faults;
}
