import type { OperationAnswer } from './tool.js';

type Row = Readonly<Record<string, unknown>>;

/** Returns the records of a list. */
export function itemsOf({ data }: OperationAnswer): readonly Row[] {
  return (data.items ?? []) as readonly Row[];
}

/** Renders a value as one line of text. Records appear by their names. */
export function inline(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(inline).join(', ');
  if (typeof value === 'object') {
    const { name, label } = value as Row;
    return typeof name === 'string' ? name : typeof label === 'string' ? label : JSON.stringify(value);
  }
  return String(value).replace(/\s+/g, ' ').trim();
}

/** Renders a Markdown table in which each cell is a single line. */
export function tableOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const line = (cells: readonly unknown[]) =>
    `| ${cells.map((cell) => inline(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Renders a list of `- name: value` for the values that are present. */
export function factsOf(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .map(([name, value]) => [name, inline(value)] as const)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `- ${name}: ${value}`)
    .join('\n');
}

/** Renders what an answer contains besides its records: their number, the next cursor, and warnings. */
export function footOf({ page, warnings = [] }: OperationAnswer): string {
  const lines: string[] = [];
  if (page !== undefined) {
    const { total, next_cursor: cursor, has_more: hasMore } = page;
    if (total !== undefined) lines.push(`${inline(total)} in all.`);
    if (hasMore === true && typeof cursor === 'string') lines.push(`More: call again with \`cursor\`: \`${cursor}\`.`);
  }
  for (const { code, message } of warnings) lines.push(`Warning \`${code}\`: ${message}`);
  return lines.join('\n');
}

/** Joins paragraphs and skips empty ones. */
export function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}
