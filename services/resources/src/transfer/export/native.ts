import { piecesOf } from '@commonplace/kit/slices';
import { enumName } from '@commonplace/platform/enums';
import { ArtifactType, ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { WHOLE_CONTENT } from '../../content/kind.js';
import type { DocumentFormat } from '../../documents/kind/records.js';
import type { Grant } from '../../domain/grant.js';
import { type Node, parentId } from '../../domain/node.js';
import { splitPrincipal } from '../../domain/principals.js';
import { requireKind } from '../../kinds.js';
import { grantsOn } from '../../sharing/grants.js';
import { NEWEST_FIRST, type SnapshotRecord } from '../../snapshots/records.js';
import type { TransferParts } from '../parts.js';
import { commentsOf, shownComments } from './comments.js';
import { shownForm, shownPublication } from './outward.js';
import { shownActor } from './people.js';
import { type ArchiveTerms, entry, fileEntry, growingEntry, jsonEntry, listTexts, type Pieces } from './pieces.js';
import { tableCsv, tableJson } from './table-text.js';

/** Yields all entries of one resource, as `docs/archive-format.md` describes them; its own JSON comes last. */
export async function* nativePieces(parts: TransferParts, node: Node, terms: ArchiveTerms): Pieces {
  const { include } = terms;
  const content = yield* contentPieces(parts, node, terms);
  const grants = include.permissions && node.principals.length > 0 ? await grantsOn(parts, node) : [];
  const comments = include.comments && node.type === 'document' ? await commentsOf(parts, node) : [];
  if (comments.length > 0) {
    yield* growingEntry(`comments/${node.id}.json`, listTexts(shownComments(parts, node, comments, terms)));
  }
  const snapshots = include.snapshots && hasSnapshots(node) ? yield* snapshotPieces(parts, node, terms) : [];
  const granted = grants.map(({ principal }) => splitPrincipal(principal)).filter(({ kind }) => kind === 'user');
  await terms.emails.load([...granted.map(({ id }) => id), node.createdBy.id, node.updatedBy.id]);
  const tags = (await parts.tags.of(node)).map(({ name }) => name);
  yield jsonEntry(`resources/${node.id}.json`, {
    ...shownNode(node, tags, terms),
    content,
    comments: comments.length > 0 ? `comments/${node.id}.json` : null,
    snapshots,
    permissions: grants.sort(byPrincipal).map((grant) => shownGrant(grant, terms)),
    form: await shownForm(parts, node, terms),
    publication: await shownPublication(parts, node),
  });
}

function shownNode(node: Node, tags: readonly string[], { emails }: ArchiveTerms): object {
  return {
    id: node.id,
    type: node.type,
    name: node.name,
    parent_id: parentId(node) ?? null,
    position: node.position,
    icon: node.icon ?? null,
    description: node.description ?? null,
    access_mode: node.restricted ? 'restricted' : 'inherit',
    is_locked: node.locked,
    is_attachment: node.attachment === true,
    external_id: node.externalId ?? null,
    metadata: node.metadata === undefined ? null : JSON.parse(node.metadata),
    tags,
    created_by: shownActor(node.createdBy, emails),
    updated_by: shownActor(node.updatedBy, emails),
    created_at: node.createdAt,
    updated_at: node.updatedAt,
    content_version: node.contentVersion,
    size_bytes: node.sizeBytes,
  };
}

const EXTENSIONS: Record<DocumentFormat, string> = { markdown: 'md', html: 'html', text: 'txt', json: 'json' };

/** Yields the entries of a resource's content, and returns the description for its JSON. */
async function* contentPieces(
  parts: TransferParts,
  node: Node,
  terms: ArchiveTerms,
): AsyncGenerator<ReturnType<typeof entry>, object | null> {
  switch (node.type) {
    case 'folder':
      return null;
    case 'document': {
      const body = await parts.kinds.document.shownBody(node, terms.subject);
      const path = `content/${node.id}.${EXTENSIONS[body.format]}`;
      yield entry(path, body.text);
      if (body.format !== 'markdown') {
        yield entry(`content/${node.id}.md`, await parts.kinds.document.textIn(node.tenant, body, 'markdown'));
      }
      return { path, format: body.format, block_ids: body.blockIds?.split(' ') ?? null };
    }
    case 'table': {
      const path = `content/${node.id}.json`;
      yield* growingEntry(path, tableJson(parts, node, terms));
      yield* growingEntry(`content/${node.id}.csv`, tableCsv(parts, node, terms));
      return { path, csv: `content/${node.id}.csv` };
    }
    case 'artifact': {
      const { source, ...fields } = shownArtifact(
        await requireKind(parts.kinds, 'artifact').read(node, WHOLE_CONTENT, terms.context),
      );
      const path = `content/${node.id}.txt`;
      yield entry(path, source);
      return { path, ...fields };
    }
    case 'file': {
      const facts = { content_type: node.file?.contentType ?? null, size_bytes: node.sizeBytes };
      if (!terms.include.files || node.file?.status !== 'ready') return { path: null, ...facts };
      const path = `files/${node.id}`;
      yield fileEntry(path, node.id);
      return { path, ...facts };
    }
  }
}

type ArtifactPayload = Awaited<ReturnType<ReturnType<typeof requireKind>['read']>>;

function shownArtifact({ artifactType = ArtifactType.CODE, language, source, title, entry, assets }: ArtifactPayload) {
  return {
    artifact_type: enumName(artifactType, 'ARTIFACT_TYPE'),
    language: language ?? null,
    title: title ?? null,
    entry: entry ?? null,
    assets: (assets ?? []).map(({ name, resourceId }) => ({ name, resource_id: resourceId })),
    source: source ?? '',
  };
}

function shownGrant(
  { principal, role, createdAt, expiresAt, later = [], email, link, grantedBy }: Grant,
  { emails }: ArchiveTerms,
) {
  const { kind, id } = splitPrincipal(principal);
  const address = kind === 'user' ? emails.of(id) : email;
  // The token of a link gives access, so it does not leave the workspace.
  const named = kind === 'link' ? { type: 'link', audience: link?.audience ?? 'org' } : { type: kind, id };
  return {
    principal: { ...named, ...(address === undefined ? {} : { email: address }) },
    role,
    granted_by: shownActor(grantedBy, emails),
    created_at: createdAt,
    expires_at: expiresAt ?? null,
    later: later.map((term) => ({ role: term.role, expires_at: term.expiresAt ?? null })),
  };
}

function byPrincipal(a: Grant, b: Grant): number {
  return a.principal < b.principal ? -1 : 1;
}

function hasSnapshots({ type }: Node): boolean {
  return type === 'document' || type === 'table' || type === 'artifact';
}

/** Number of snapshots that one query reads. */
const SNAPSHOTS_PER_QUERY = 100;

/** Yields the entries of all snapshots, newest first, and returns their paths. */
async function* snapshotPieces(
  parts: TransferParts,
  node: Node,
  terms: ArchiveTerms,
): AsyncGenerator<ReturnType<typeof entry>, string[]> {
  const paths: string[] = [];
  for (let offset = 0; ; offset += SNAPSHOTS_PER_QUERY) {
    const where = { resourceId: node.id };
    const found = await parts.snapshots.find({ where, sort: NEWEST_FIRST, limit: SNAPSHOTS_PER_QUERY, offset });
    await terms.emails.load(found.flatMap(({ createdBy, written }) => [createdBy.id, written.by.id]));
    for (const snapshot of found) {
      const path = `snapshots/${node.id}/${snapshot.id}.json`;
      const facts = shownSnapshot(snapshot, terms);
      if (node.type === 'table') {
        const head = JSON.stringify(facts).slice(0, -1);
        yield* growingEntry(path, around(`${head},"content":`, tableJson(parts, node, terms, snapshot.id), '}\n'));
      } else if (node.type === 'document') {
        yield* growingEntry(path, documentJson(facts, await keptContent(parts, node, snapshot, terms)));
      } else
        yield jsonEntry(path, { ...facts, content: shownArtifact(await keptContent(parts, node, snapshot, terms)) });
      paths.push(path);
    }
    if (found.length < SNAPSHOTS_PER_QUERY) return paths;
  }
}

async function* around(before: string, texts: AsyncIterable<string>, after: string): AsyncGenerator<string> {
  yield before;
  yield* texts;
  yield after;
}

function shownSnapshot(snapshot: SnapshotRecord, { emails }: ArchiveTerms): object {
  const { id, name, description, reason, contentVersion, written, createdBy, createdAt, expiresAt } = snapshot;
  return {
    id,
    name: name ?? null,
    description: description ?? null,
    reason,
    content_version: contentVersion,
    written_by: shownActor(written.by, emails),
    written_at: written.at,
    created_by: shownActor(createdBy, emails),
    created_at: createdAt,
    expires_at: expiresAt ?? null,
  };
}

/** Returns the content of a snapshot of a document, as Markdown, or of an artifact. */
function keptContent(
  parts: TransferParts,
  node: Node,
  { id }: SnapshotRecord,
  { context }: ArchiveTerms,
): Promise<ArtifactPayload> {
  const query = { ...WHOLE_CONTENT, ...(node.type === 'document' && { format: ContentFormat.MARKDOWN }) };
  return requireKind(parts.kinds, node.type).readKept(node, id, query, context);
}

/** How `jsonEntry` ends an object whose last field is an object. */
const END_OF_TWO = '\n  }\n}';

/** Yields a snapshot of a document as `jsonEntry` writes it, piece by piece: its content is JSON already. */
async function* documentJson(facts: object, { content }: ArtifactPayload): AsyncGenerator<string> {
  const head = JSON.stringify({ ...facts, content: { format: 'markdown' } }, null, 2);
  yield `${head.slice(0, -END_OF_TWO.length)},\n    "text": `;
  yield* piecesOf(String(content));
  yield `${END_OF_TWO}\n`;
}
