import type { Actor } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldName, isLongerThan } from '@commonplace/kit/words';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { MAX_METADATA_BYTES } from '../../config.js';
import { creationInput, NO_INPUT } from '../../content/input.js';
import type { ContentInput, PreparedWrite } from '../../content/kind.js';
import { type FileState, isAttachment, type Node } from '../../domain/node.js';
import { placeUnder } from '../../domain/tree.js';
import { requireKind } from '../../kinds.js';
import { keepCreator } from '../../tree/create.js';
import type { Destination } from '../../tree/destination.js';
import { reservePlaces } from '../../tree/reserve.js';
import { actorFrom, nodeType } from '../../wire.js';
import type { TransferParts } from '../parts.js';
import { type ArchivedItem, archivedIn, archivedInput, asArchived } from './archived.js';
import { putArchived } from './archived-data.js';
import type { ItemTerms } from './item-terms.js';
import { fittingName, freeName } from './names.js';
import { type NewNode, past } from './new-node.js';

/** Maximum length of an external id in UTF-16 code units. */
const MAX_EXTERNAL_ID_CHARS = 255;

/**
 * Adds the node of an item to this call's work, with its content. Throws the errors that a creation would be refused
 * with.
 */
export async function insertItem(
  parts: TransferParts,
  item: ImportItem,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<Node> {
  const archived = await archivedIn(item);
  const { destination, position } = await terms.homes.next(item.parentId);
  const plain = await holderOf(parts, item, archived, { ...terms, destination, position }, warnings, context);
  const holder: NewNode = archived === undefined ? plain : await asArchived(plain, archived, terms);
  const content = await contentOf(parts, holder, item, archived, terms, context);
  await reservePlaces(parts, destination, context.work, { id: item.id });
  if (content !== undefined) holder.sizeBytes = content.sizeBytes;
  context.work.insert(parts.tree.nodes, holder);
  await content?.apply();
  for (const { message } of content?.warnings ?? []) warnings.push(message);
  // Read again, because a content kind may have written fields of the node itself.
  const node = (await context.work.get(parts.tree.nodes, item.id)) as Node;
  const granted = holder.restricted ? await keepCreator(parts, node, destination, terms.subject, context) : node;
  const whole =
    archived === undefined ? granted : await putArchived(parts, granted, archived, terms, warnings, context);
  terms.homes.add(whole);
  return whole;
}

async function holderOf(
  parts: TransferParts,
  item: ImportItem,
  archived: ArchivedItem | undefined,
  terms: ItemTerms & { readonly destination: Destination; readonly position: string },
  warnings: string[],
  context: CallContext,
): Promise<NewNode> {
  const { destination, position } = terms;
  const { id } = item;
  const externalId = freeId(item.externalId, terms, warnings);
  const type = nodeType(item.type) ?? 'document';
  const restricted = item.accessMode === AccessMode.RESTRICTED || archived?.restricted === true;
  const place = placeUnder(destination.parent, { id, restricted });
  const fitting = fittingName(item.name, warnings);
  const name = item.uniqueName ? await freeName(parts, fitting, destination.key, place.workspaceId) : fitting;
  const createdBy = authorOf(item, terms, context);
  const now = new Date().toISOString();
  const file = item.file === undefined ? undefined : fileState(item.file, item.revision);
  return {
    ...place,
    id,
    parentKey: destination.key,
    type,
    attachment: isAttachment(type, destination.parent) || undefined,
    name,
    nameFold: foldName(name),
    icon: item.icon,
    description: item.description,
    position,
    restricted,
    locked: item.locked,
    state: 'active',
    externalId,
    externalKey: externalId === undefined ? undefined : `${place.workspaceId}:${externalId}`,
    metadata: metadataOf(item, warnings),
    tags: terms.tags.of(item.tags, warnings),
    principals: [],
    contentVersion: 1,
    sizeBytes: file?.sizeBytes ?? 0,
    file,
    importId: terms.importId,
    createdBy,
    createdById: createdBy.id,
    ...(createdBy.type !== 'user' && { createdForId: context.caller.userId }),
    updatedBy: createdBy,
    createdAt: past(item.createdAt, now),
    updatedAt: past(item.updatedAt ?? item.createdAt, now),
  } as NewNode;
}

/**
 * Returns an item's external id, or undefined with a warning if another resource in the workspace has it or it is too
 * long.
 */
function freeId(externalId: string | undefined, { taken }: ItemTerms, warnings: string[]): string | undefined {
  if (externalId === undefined) return undefined;
  const fits = !isLongerThan(externalId, MAX_EXTERNAL_ID_CHARS) && !taken.has(externalId);
  if (!fits) warnings.push('The external id was left out: another resource has it, or it is too long.');
  taken.add(externalId);
  return fits ? externalId : undefined;
}

/** Returns the creator that the source names; another person than the caller only if an administrator imports. */
function authorOf({ createdBy }: ImportItem, { label, administers }: ItemTerms, { caller }: CallContext): Actor {
  if (createdBy === undefined || createdBy.id === '') return label;
  return administers || createdBy.id === caller.userId ? actorFrom(createdBy) : label;
}

function fileState({ contentType, sizeBytes, status }: Omit<FileState, 'revision'>, revision: string) {
  return { contentType, sizeBytes, status, revision };
}

/** Returns an item's metadata; leaves it out with a warning if it is too long. */
function metadataOf({ metadataJson }: ImportItem, warnings: string[]): string | undefined {
  if (metadataJson.length === 0) return undefined;
  if (metadataJson.length <= MAX_METADATA_BYTES) return metadataJson.toString();
  warnings.push(`The metadata was left out: it has more than ${MAX_METADATA_BYTES} bytes.`);
  return undefined;
}

async function contentOf(
  parts: TransferParts,
  holder: NewNode,
  item: ImportItem,
  archived: ArchivedItem | undefined,
  terms: ItemTerms,
  context: CallContext,
): Promise<PreparedWrite | undefined> {
  if (holder.type === 'file' || holder.type === 'folder') return undefined;
  const input = await inputOf(parts, item, archived, terms);
  if (input === undefined && holder.type === 'document') return undefined;
  const kind = requireKind(parts.kinds, holder.type);
  if (archived !== undefined && kind.restoreInput) return kind.restoreInput(holder, input ?? NO_INPUT, context);
  return kind.create(holder, input ?? NO_INPUT, context);
}

/** Returns the content of an item; undefined if it has none. */
export async function inputOf(
  parts: TransferParts,
  { markdown, html, contentJson, type }: ImportItem,
  archived: ArchivedItem | undefined,
  terms: ItemTerms,
): Promise<ContentInput | undefined> {
  if (archived !== undefined) return archivedInput(parts, archived, nodeType(type) ?? 'document', terms);
  if (markdown !== undefined) return { ...NO_INPUT, markdown };
  if (html !== undefined) return { ...NO_INPUT, html };
  if (contentJson.length === 0) return undefined;
  return creationInput({ content: contentJson, columns: NO_BYTES, rows: NO_BYTES }, nodeType(type) ?? 'document');
}

const NO_BYTES = Buffer.alloc(0);
