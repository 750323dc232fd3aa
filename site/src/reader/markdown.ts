import type { FolderBody, ReaderEntry, ReaderPage, TableBody } from '@commonplace/proto/resources/v1/reader_service.js';

/** Renders a page as Markdown. Documents are returned unchanged; other types as far as Markdown can express them. */
export function markdownOf({ item, document, table, folder, artifact, file }: ReaderPage): string {
  if (document) return document.markdown;
  const title = `# ${plain(item?.name ?? '')}\n`;
  if (table) return `${title}\n${tableOf(table)}`;
  if (artifact) return `${title}\n${fenced(artifact.source, artifact.language || artifact.artifactType)}`;
  if (file) return file.path === '' ? title : `${title}\n[Download](${file.path})\n`;
  return folder ? `${title}\n${listOf(folder.children)}${moreOf(folder, item?.path)}` : title;
}

const plain = (text: string): string => text.replace(/[\\`*_[\]<>|]/g, '\\$&').replace(/\s*\n\s*/g, ' ');

function tableOf({ columns, rows }: TableBody): string {
  const line = (cells: readonly string[]) => `| ${cells.map(plain).join(' | ')} |\n`;
  const rule = `|${columns.map(() => ' --- |').join('')}\n`;
  return line(columns.map(({ name }) => name)) + rule + rows.map(({ cells }) => line(cells)).join('');
}

function fenced(source: string, language: string): string {
  const longest = Math.max(2, ...[...source.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${source}\n${fence}\n`;
}

const listOf = (entries: readonly ReaderEntry[]): string =>
  entries.map(({ name, path }) => `- [${plain(name)}](${path})\n`).join('');

function moreOf({ children, offset, childCount }: FolderBody, path = ''): string {
  const next = offset + children.length;
  if (children.length === 0 || next >= childCount) return '';
  return `\n[${childCount - next} more](${path || '/'}?format=md&offset=${next})\n`;
}
