import type { Counts, ImportRecord, ItemCounts, ItemRecord } from '../stores/records.js';

/** Holds the results of an import. */
export interface Findings {
  readonly counts: Counts;
  readonly done: ItemCounts;
  /** Only the first ones. */
  readonly failed: readonly ItemRecord[];
  /** By code: the first skipped item, and the number of them. */
  readonly skipped: ReadonlyMap<
    string,
    { readonly path: string; readonly message: string | undefined; readonly count: number }
  >;
  readonly broken: readonly { readonly path: string; readonly href: string }[];
  /** Items that were created with changes. */
  readonly warned: readonly ItemRecord[];
}

/** Returns the name of an item for people: its title if the source has opaque paths, otherwise its path. */
export function labelOf({ title, path }: Pick<ItemRecord, 'title' | 'path'>): string {
  return title ?? path;
}

/**
 * Formats the report of an import as Markdown: what was imported, what failed and why, and what the source does not
 * contain.
 */
export function reportOf(record: ImportRecord, found: Findings, notes: readonly string[]): string {
  const { counts, done } = found;
  const sections = [
    `# ${inline(record.name)}`,
    record.error === undefined
      ? ''
      : `**The import failed** (\`${record.error.code}\`): ${inline(record.error.message)}`,
    record.dryRun ? 'This was a dry run: nothing was written.' : '',
    section('What was imported', importedLines(counts, done)),
    section('What failed', [
      ...found.failed.map((item) => `- \`${item.code}\` ${literal(labelOf(item))}: ${inline(item.message ?? '')}`),
      ...more(done.failed - found.failed.length),
    ]),
    section('Links without a target', [
      ...found.broken.map(({ path, href }) => `- ${literal(path)}: ${literal(href)}`),
      ...more(counts.linksBroken - found.broken.length),
    ]),
    section(
      'What was skipped',
      [...found.skipped].map(
        ([code, { path, message, count }]) =>
          `- ${count} × \`${code}\`${message === undefined ? '' : `: ${inline(message)}`} (the first: ${literal(path)})`,
      ),
    ),
    section(
      'What had to be changed',
      found.warned.map((item) => `- ${literal(labelOf(item))}: ${inline(item.message ?? '')}`),
    ),
    section(
      'What the source does not contain',
      notes.map((note) => `- ${inline(note)}`),
    ),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`;
}

function importedLines(counts: Counts, { total, succeeded, failed, skipped }: ItemCounts): string[] {
  const { documents, tables, rows, files, folders, linksRewritten, linksBroken, usersMapped } = counts;
  return [
    `- Items: ${succeeded} of ${total}; ${failed} failed, ${skipped} skipped`,
    `- Documents: ${documents}; tables: ${tables}; rows: ${rows}; files: ${files}; folders: ${folders}`,
    `- Links: ${linksRewritten} to what was imported, ${linksBroken} without a target`,
    ...(usersMapped > 0 ? [`- People of the source that are members of the workspace: ${usersMapped}`] : []),
  ];
}

function more(count: number): string[] {
  return count > 0 ? [`- … and ${count} more`] : [];
}

function inline(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>]/g, '\\$&');
}

function literal(text: string): string {
  return `\`${text.replace(/[`\n]/g, ' ')}\``;
}
