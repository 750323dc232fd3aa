import { UUID_PATTERN } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { enumName } from '@commonplace/platform/enums';
import { ArtifactType, CellFormat } from '@commonplace/proto/resources/v1/content_service.js';
import type {
  ArtifactBody,
  DocumentBody,
  FileBody,
  FolderBody,
  TableBody,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { ContentKind, ContentQuery, Payload } from '../content/kind.js';
import { WHOLE_CONTENT } from '../content/kind.js';
import type { PublicLinks } from '../documents/index.js';
import { requireKind } from '../kinds.js';
import { cellText } from '../tables/cell-text.js';
import type { ShownRow } from '../tables/read.js';
import type { Addresses } from './addresses.js';
import { isRaster } from './images.js';
import { childrenOf } from './navigation.js';
import type { OpenedPublication } from './opening.js';
import type { ShownItem } from './outline.js';
import type { PublicationParts } from './parts.js';
import { FRAME_SECONDS, FRAMED_FILE_SECONDS, type PassTarget, signPass } from './proofs.js';

/** Default and maximum number of table rows on one page. */
const DEFAULT_ROWS = 100;
const MAX_ROWS = 500;

/** The content of a page, by the type of its resource. */
type Body =
  | { readonly document: DocumentBody }
  | { readonly table: TableBody }
  | { readonly artifact: ArtifactBody }
  | { readonly folder: FolderBody }
  | { readonly file: FileBody };

interface BodyTerms {
  readonly opened: OpenedPublication;
  readonly addresses: Addresses;
  readonly format: 'html' | 'markdown';
  readonly offset: number;
  readonly limit: number;
  /** Prefix of addresses in Markdown, which is read outside of its page. */
  readonly prefix: string;
}

/** Returns the content of a page. An undefined `shown` is a workspace, which is presented as a folder. */
export function bodyOf(
  parts: PublicationParts,
  shown: ShownItem | undefined,
  terms: BodyTerms,
  context: CallContext,
): Promise<Body> {
  switch (shown?.type) {
    case 'document':
      return documentBody(parts, shown, terms, context);
    case 'table':
      return tableBody(parts, shown, terms, context);
    case 'artifact':
      return artifactBody(parts, shown, terms, context);
    case 'file':
      return Promise.resolve({ file: fileBody(shown, terms) });
    default:
      return Promise.resolve({ folder: childrenOf(terms.opened, shown, terms) });
  }
}

/** Returns a function that finds the addresses of resources; resources outside the publication have none. */
function linksOf({ opened, addresses, prefix }: BodyTerms): (ids: readonly string[]) => PublicLinks {
  return (ids) => {
    const links: [string, { page: string; image?: string; name: string }][] = [];
    for (const id of ids) {
      const shown = opened.outline.byId.get(id);
      if (shown === undefined) continue;
      const path = addresses.page(shown);
      // An attachment has no page of its own, so its address is that of its bytes.
      const bytes = shown.type === 'file' ? addresses.file(shown) : undefined;
      const page = shown.attachment ? downloadOf(shown, opened, bytes) : path;
      if (page === undefined && !isRaster(shown)) continue;
      const image = isRaster(shown) && bytes !== undefined ? { image: prefix + bytes } : {};
      links.push([id, { page: prefix + (page ?? bytes), name: shown.name, ...image }]);
    }
    return new Map(links);
  };
}

/**
 * Returns the path of an attachment that readers may open. Images are always allowed, as documents show them anyway.
 */
function downloadOf(
  shown: ShownItem,
  { publication }: OpenedPublication,
  path: string | undefined,
): string | undefined {
  const isReady = shown.file?.status === 'ready';
  return isReady && (publication.allowDownload || isRaster(shown)) ? path : undefined;
}

const EMPTY_DOCUMENT: DocumentBody = { html: '', markdown: '', wordCount: 0, headings: [], excerpt: '', imagePath: '' };

async function documentBody(
  parts: PublicationParts,
  shown: ShownItem,
  terms: BodyTerms,
  context: CallContext,
): Promise<Body> {
  const read = await parts.kinds.document.published(shown, linksOf(terms), terms.format, context);
  if (read.html === undefined) return { document: { ...EMPTY_DOCUMENT, markdown: read.markdown ?? '' } };
  const { html, words = 0, headings = [], excerpt = '', image = '' } = read;
  return {
    document: { ...EMPTY_DOCUMENT, html, wordCount: words, headings: [...headings], excerpt, imagePath: image },
  };
}

interface TableColumn {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly description: string | null;
  readonly hidden: boolean;
  readonly options?: { readonly target_table_id?: string };
}

async function tableBody(
  parts: PublicationParts,
  shown: ShownItem,
  terms: BodyTerms,
  context: CallContext,
): Promise<Body> {
  const limit = Math.min(Math.max(terms.limit || DEFAULT_ROWS, 1), MAX_ROWS);
  const offset = Math.max(terms.offset, 0);
  const { byId } = terms.opened.outline;
  const payload = await readKind(
    parts.kinds.table,
    shown,
    { ...WHOLE_CONTENT, page: { limit, offset, cursor: '' }, cellFormat: CellFormat.DISPLAY },
    (id) => byId.has(id),
    context,
  );
  const columns = (JSON.parse(String(payload.columns)) as TableColumn[]).filter(isShown);
  const rows = JSON.parse(String(payload.rows)) as ShownRow[];
  return {
    table: {
      columns: columns.map(({ id, name, type, description }) => ({ id, name, type, description: description ?? '' })),
      rows: rows.map(({ id, cells }) => ({
        id,
        cells: columns.map((column) => publicCell(cells[column.id], column, terms)),
      })),
      rowCount: payload.rowCount ?? 0,
      offset,
      limit,
    },
  };
}

const UUIDS = new RegExp(`\\b${UUID_PATTERN}\\b`, 'g');

/** Hides link columns too, because their cells contain only ids of rows. */
const isShown = ({ hidden, type }: TableColumn): boolean => !hidden && type !== 'link';

/** Returns a cell as text. Resources and files appear by name, and only if they are published. */
function publicCell(cell: unknown, { type }: TableColumn, { opened }: BodyTerms): string {
  if (cell !== null && typeof cell === 'object' && 'error' in cell) return '';
  const text = cellText(cell);
  if (type !== 'resource' && type !== 'attachment') return text;
  const names = (text.match(UUIDS) ?? []).flatMap((id) => opened.outline.byId.get(id)?.name ?? []);
  return names.join(', ');
}

function readKind(
  kind: ContentKind | undefined,
  shown: ShownItem,
  query: ContentQuery,
  mayRead: (id: string) => boolean,
  context: CallContext,
): Promise<Payload> {
  if (kind?.readPublished !== undefined) return kind.readPublished(shown, query, mayRead, context);
  const { node, keptId, type } = shown;
  if (kind === undefined) throw new Error(`a ${type} has no content to read`);
  return keptId === undefined ? kind.read(node, query, context) : kind.readKept(node, keptId, query, context);
}

async function artifactBody(
  parts: PublicationParts,
  shown: ShownItem,
  terms: BodyTerms,
  context: CallContext,
): Promise<Body> {
  const kind = requireKind(parts.kinds, 'artifact');
  const read = await readKind(kind, shown, WHOLE_CONTENT, () => false, context);
  const { artifactType = ArtifactType.CODE, language = '', source = '', title = '', entry = '', assets = [] } = read;
  const { publication, outline } = terms.opened;
  const nowMs = Date.now();
  const pass = (thing: PassTarget, seconds: number) =>
    publication.visibility === 'password' ? signPass(publication, thing, seconds, nowMs) : undefined;
  return {
    artifact: {
      artifactType: enumName(artifactType, 'ARTIFACT_TYPE'),
      language,
      source,
      title,
      entry,
      assets: assets.flatMap(({ name, resourceId }) => {
        const asset = outline.byId.get(resourceId);
        if (asset?.file === undefined) return [];
        return [{ name, path: terms.addresses.file(asset), pass: pass(`file ${asset.id}`, FRAMED_FILE_SECONDS) }];
      }),
      pass: pass(`frame ${shown.id}`, FRAME_SECONDS),
    },
  };
}

/** Removes the passes, which differ by reader and time, so that the rest is the same for all readers. */
export function withoutPasses(artifact: ArtifactBody): ArtifactBody {
  return { ...artifact, assets: artifact.assets.map((asset) => ({ ...asset, pass: undefined })), pass: undefined };
}

function fileBody(shown: ShownItem, { addresses, opened }: BodyTerms): FileBody {
  const { contentType = 'application/octet-stream', sizeBytes = 0, status } = shown.file ?? {};
  const isImage = isRaster(shown);
  const given = status === 'ready' && (opened.publication.allowDownload || isImage);
  return { contentType, sizeBytes, path: given ? addresses.file(shown) : '', isImage };
}
