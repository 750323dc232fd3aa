import { escapeHtml } from '@commonplace/kit/html';
import { UUID_PATTERN } from '@commonplace/kit/id';
import { findEach } from '@commonplace/kit/store';
import { ArtifactType, CellFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { WHOLE_CONTENT } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import { requireKind } from '../../kinds.js';
import { cellText } from '../../tables/cell-text.js';
import type { TransferParts } from '../parts.js';
import { htmlPage } from './html.js';
import { type ArchiveTerms, entry, fileEntry, growingEntry, type Pieces } from './pieces.js';
import { extensionOf, linkBetween, type Places } from './places.js';
import { tableCsv, tablePages } from './table-text.js';

type Format = 'markdown' | 'html';

/** Yields a resource in the readable format of the archive; links lead to other entries. */
export async function* readablePieces(parts: TransferParts, node: Node, terms: ArchiveTerms, places: Places): Pieces {
  const format = terms.format as Format;
  const stem = await places.of(node);
  const path = stem + (await endOf(parts, node, terms, places));
  switch (node.type) {
    case 'document': {
      const body = await parts.kinds.document.shownBody(node, terms.subject);
      const text = await parts.kinds.document.textIn(node.tenant, body, format);
      const shown = await linked(parts, text, path, node, terms, places);
      yield entry(path, format === 'markdown' ? shown : htmlPage(node.name, shown));
      break;
    }
    case 'table':
      yield* growingEntry(`${stem}.csv`, tableCsv(parts, node, terms));
      if (format === 'html') yield* growingEntry(path, tableHtml(parts, node, terms));
      break;
    case 'artifact': {
      const { source = '' } = await requireKind(parts.kinds, 'artifact').read(node, WHOLE_CONTENT, terms.context);
      yield entry(path, source);
      break;
    }
    case 'file':
      if (terms.include.files && node.file?.status === 'ready') yield fileEntry(path, node.id);
      break;
    case 'folder':
      break;
  }
  if (format === 'html') yield* indexPieces(parts, node, `${stem}/index.html`, terms, places);
}

const SOURCES: Partial<Record<ArtifactType, string>> = {
  [ArtifactType.HTML]: '.html.txt',
  [ArtifactType.SVG]: '.svg.txt',
  [ArtifactType.REACT]: '.jsx',
  [ArtifactType.MERMAID]: '.mmd',
  [ArtifactType.MARKDOWN]: '.md',
  [ArtifactType.JSON]: '.json',
  [ArtifactType.CSV]: '.csv',
};

/** Returns the end of the path of a resource's entry, which other entries link to. */
async function endOf(parts: TransferParts, node: Node, terms: ArchiveTerms, places: Places): Promise<string> {
  if (node.type !== 'artifact') return extensionOf(node, terms.format as Format);
  return places.endOfArtifact(node.id, async () => {
    const { artifactType } = await requireKind(parts.kinds, 'artifact').read(node, WHOLE_CONTENT, terms.context);
    return SOURCES[artifactType as ArtifactType] ?? '.txt';
  });
}

const REFERENCE = new RegExp(`resource:(${UUID_PATTERN})`, 'g');

/** Returns a text in which references lead to the entries of their resources. */
async function linked(
  parts: TransferParts,
  text: string,
  path: string,
  { workspaceId }: Node,
  terms: ArchiveTerms,
  places: Places,
): Promise<string> {
  const ids = [...new Set([...text.matchAll(REFERENCE)].map(([, id]) => id as string))];
  if (ids.length === 0) return text;
  const links = new Map<string, string>();
  for (const [id, target] of await places.many(workspaceId, ids)) {
    if (target.node.type === 'file' && !terms.include.files) continue;
    links.set(id, linkBetween(path, target.path + (await endOf(parts, target.node, terms, places))));
  }
  return text.replace(REFERENCE, (whole, id: string) => links.get(id) ?? whole);
}

async function* tableHtml(parts: TransferParts, node: Node, terms: ArchiveTerms): AsyncGenerator<string> {
  const [before, after] = htmlPage(node.name, '\0').split('\0') as [string, string];
  yield before;
  let first = true;
  for await (const { columns, rows } of tablePages(parts, node, CellFormat.DISPLAY, terms)) {
    if (first) yield `<table>\n<tr>${columns.map(({ name }) => `<th>${escapeHtml(name)}</th>`).join('')}</tr>\n`;
    first = false;
    for (const { cells } of rows) {
      yield `<tr>${columns.map(({ id }) => `<td>${htmlOf(cellText(cells[id]))}</td>`).join('')}</tr>\n`;
    }
  }
  yield `</table>${after}`;
}

/** Escapes the text of a cell, whose line breaks HTML would show as blanks. */
const htmlOf = (text: string): string => escapeHtml(text).replace(/\r\n?|\n/g, '<br />');

/** Number of children that one query reads; other requests run in between. */
const CHILDREN_AT_ONCE = 200;

/** Yields a list of the children of a resource, or of the top of the workspace. */
export async function* indexPieces(
  parts: TransferParts,
  node: Pick<Node, 'id' | 'name' | 'workspaceId'>,
  path: string,
  terms: ArchiveTerms,
  places: Places,
): Pieces {
  const where = { parentKey: node.id, state: 'active' } as const;
  const lines: string[] = [];
  for await (const child of findEach(parts.tree.nodes, { where, sort: ['position'] }, CHILDREN_AT_ONCE)) {
    const to = (await places.of(child)) + (await endOf(parts, child, terms, places));
    lines.push(`<li><a href="${escapeHtml(linkBetween(path, to))}">${escapeHtml(child.name)}</a></li>`);
  }
  if (lines.length === 0 && path !== 'index.html' && (await hasNoPage(parts, node.id))) return;
  yield entry(path, htmlPage(node.name, `<ul>\n${lines.join('\n')}\n</ul>`));
}

/** Returns whether a resource needs no list page: it is not a folder, whose only page is its list. */
async function hasNoPage(parts: TransferParts, id: string): Promise<boolean> {
  return (await parts.tree.nodes.get(id))?.type !== 'folder';
}
